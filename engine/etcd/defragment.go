package etcd

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Defragment rewrites the database of the member on a host without the pages that compaction has emptied. It returns
// the number of bytes that the file lost. It contacts only this member.
//
// A defragmentation blocks (etcd, "Maintenance"): until the file is rewritten, the member does not read, write or apply
// anything. Defragment refuses the leader of several voters, because every write of the cluster would wait for it. It
// does not refuse the only voter: the cluster is then unavailable until the file is rewritten. The member's disk needs
// space for a second file with all data in use.
//
// etcd cannot stop a defragmentation. If the context or the connection ends, the error says that the member may still
// be busy. Call AwaitMember after every Defragment, also after success.
func (c *Cluster) Defragment(ctx context.Context, host string) (int64, error) {
	freed, err := c.defragmentMember(ctx, host)
	if err != nil {
		return 0, c.cfg.stepError("defragment the member on "+host, err)
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
			return 0, fmt.Errorf("%w; it may still be busy", unansweredError("defragment", err))
		}
		return 0, unansweredError("defragment", err)
	}
	after, err := c.databaseSize(ctx, s)
	if err != nil {
		return 0, fmt.Errorf("it is done, but %w", err)
	}
	return max(0, before-after), nil
}

// sizeIfExpendable returns the size of the member's database in bytes, or an error if the cluster needs the member.
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
