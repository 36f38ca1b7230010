package etcd

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Defragment rewrites the database of the member on a host without the pages
// that compaction has left empty, and returns by how many bytes the file got
// smaller. Only that member is asked; nothing of it reaches the others.
//
// It is blocking (etcd, "Maintenance", on defragmentation): until the file is
// rewritten, which takes longer the more is in use, the member neither reads
// nor writes, and applies nothing. So the leader is refused as long as there
// are other voters: every write of the cluster would wait for it. The only
// voter is not refused; then the cluster is away. On the member's disk there
// has to be room for a second file with all that is in use.
//
// etcd cannot be told to stop. When the context ends, or the connection, the
// error says that the member may be at it still; AwaitMember says when it
// answers again, which is to be waited for after success, too.
func (c *Cluster) Defragment(ctx context.Context, host string) (int64, error) {
	freed, err := c.defragmentMember(ctx, host)
	if err != nil {
		return 0, c.stepError("defragment the member on "+host, err)
	}
	return freed, nil
}

func (c *Cluster) defragmentMember(ctx context.Context, host string) (int64, error) {
	s, _, err := c.openAt(ctx, host)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	before, err := c.sizeIfExpendable(ctx, s)
	if err != nil {
		return 0, err
	}
	if _, err := s.Defragment(ctx, ""); err != nil {
		if ctx.Err() != nil || status.Code(err) == codes.Unavailable {
			return 0, fmt.Errorf("%w; it may be at it still", unansweredError("defragment", err))
		}
		return 0, unansweredError("defragment", err)
	}
	after, err := c.databaseSize(ctx, s)
	if err != nil {
		return 0, fmt.Errorf("it is done, but %w", err)
	}
	return max(0, before-after), nil
}

// sizeIfExpendable gives the size of the member's database, in bytes, if the cluster can
// spare the member for a while.
func (c *Cluster) sizeIfExpendable(ctx context.Context, s *session) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.gatherTimeout())
	defer cancel()
	var a answer
	s.askIdentity(ctx, &a)
	switch {
	case a.err != nil:
		return 0, a.err
	case a.listErr != nil:
		return 0, a.listErr
	case a.status.Leader == 0:
		return 0, errors.New("no leader")
	}
	voters := 0
	for _, m := range a.members {
		if !m.IsLearner {
			voters++
		}
	}
	if a.status.Leader == a.memberID() && voters > 1 {
		return 0, fmt.Errorf("it leads %d voters, and every write would wait for it: move the leader to another first", voters)
	}
	return a.status.DbSize, nil
}

func (c *Cluster) databaseSize(ctx context.Context, s *session) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.gatherTimeout())
	defer cancel()
	said, err := s.Status(ctx, "")
	if err != nil {
		return 0, unansweredError("status", err)
	}
	return said.DbSize, nil
}
