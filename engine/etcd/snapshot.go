package etcd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sort"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd/snapshot"
	"holdfast/engine/etcdfacts"
)

// SnapshotInfo describes a saved snapshot.
type SnapshotInfo struct {
	Path     string          `json:"path"`
	Host     string          `json:"host"`     // host of the member that sent it
	Bytes    int64           `json:"bytes"`    // size of the file
	SHA256   string          `json:"sha256"`   // of the whole file, hexadecimal
	Revision int64           `json:"revision"` // lower bound
	Took     engine.Duration `json:"took"`     // how long it took
}

// Snapshot saves the cluster's data to a file, which etcdutl can restore. It takes the data from a healthy follower; if
// that fails, from the next one, and at last from the leader. The file (0600, synced) gets its name only after its hash
// was checked. A failed snapshot leaves no file. The context bounds the time. A member that stops answering fails after
// 15 s.
func (c *Cluster) Snapshot(ctx context.Context, path string) (SnapshotInfo, error) {
	var causes []error
	for _, m := range snapshotSources(c.Gather(ctx)) {
		info, err := c.snapshotFrom(ctx, m, path)
		if err == nil {
			return info, nil
		}
		causes = append(causes, fmt.Errorf("from %s on %s: %w", m.Name, m.Host, err))
		if ctx.Err() != nil {
			break
		}
	}
	if len(causes) == 0 {
		causes = append(causes, errors.New("no healthy voter to take it from"))
	}
	return SnapshotInfo{}, c.cfg.stepError("snapshot to "+filepath.Clean(path), joinDistinct(causes...))
}

func snapshotSources(facts etcdfacts.ClusterFacts) []etcdfacts.Member {
	var list []etcdfacts.Member
	for _, m := range facts.Voters() {
		if m.Healthy && m.Host != "" {
			list = append(list, m)
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return !list[i].Leader && list[j].Leader })
	return list
}

func (c *Cluster) snapshotFrom(ctx context.Context, m etcdfacts.Member, path string) (SnapshotInfo, error) {
	began := time.Now()
	ctx, cancel := context.WithCancel(ctx) // ends the stream if writing fails
	defer cancel()
	s, revision, err := c.openAt(ctx, m.Host)
	if err != nil {
		return SnapshotInfo{}, err
	}
	defer s.Close()
	stream, err := s.SnapshotWithVersion(ctx)
	if err != nil {
		return SnapshotInfo{}, unansweredError("stream", err)
	}
	size, sum, err := snapshot.Save(path, stream.Snapshot, snapshot.MaxSize)
	if err = errors.Join(err, stream.Snapshot.Close()); err != nil {
		return SnapshotInfo{}, err
	}
	return SnapshotInfo{
		Path: path, Host: m.Host, Bytes: size, SHA256: sum,
		Revision: revision, Took: engine.Duration(time.Since(began)),
	}, nil
}

// Revision returns the revision that the member on a host has applied.
func (c *Cluster) Revision(ctx context.Context, host string) (int64, error) {
	s, revision, err := c.openAt(ctx, host)
	if err != nil {
		return 0, err
	}
	s.Close()
	return revision, nil
}

func (c *Cluster) openAt(ctx context.Context, host string) (*session, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.gatherTimeout())
	defer cancel()
	i := c.cfg.peerIndex(host)
	if i < 0 {
		return nil, 0, fmt.Errorf("%s is not a host of the cluster", host)
	}
	s, err := c.openSession(ctx, c.cfg.Peers[i])
	if err != nil {
		return nil, 0, err
	}
	status, err := s.Status(ctx, "")
	if err != nil {
		s.Close()
		return nil, 0, unansweredError("status", err)
	}
	if err := c.proveMember(ctx, c.cfg.Peers[i], s); err != nil {
		s.Close()
		return nil, 0, err
	}
	return s, status.Header.GetRevision(), nil
}
