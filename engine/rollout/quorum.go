package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sourcegraph/conc/pool"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/standing"
)

// checkQuorum proves, under the hold of the host, that its cluster may lose the
// host now. Every run takes its hold first and then reads the holds of the
// other members. So if two runs want members of one cluster at the same moment,
// at least one run sees the hold of the other and releases its own.
func (r *stepRunner) checkQuorum(ctx context.Context, hp engine.HostPlan, q engine.Quorum) error {
	began, cluster := r.Clock.Now(), q.Cluster
	c, _ := r.Inventory.Cluster(cluster)
	var away, foreign []string
	for _, f := range r.gatherOtherMembers(ctx, hp.Host, cluster) {
		h, _ := r.Inventory.Host(f.Host)
		st := standing.View{Run: r.holdOwner()}.Judge(h, engine.Pool{}, f)
		if st.IsAway() {
			away = append(away, f.Host)
		}
		if st.IsHeldByOther() && !h.Leaving { // nobody holds a host that leaves the site, so waiting would not help
			foreign = append(foreign, f.Host)
		}
	}
	facts := r.Clusters.Gather(ctx, cluster)
	gathered := endUnsuspended(began, r.Clock.Now(), checkTime(c))
	sample := event.NewSample(facts)
	r.noteEvent(event.Event{Type: event.EtcdSampled, Cluster: cluster, Etcd: &sample})
	err := facts.MayLose(hp.Host, away, c.AllowOutage || q.RunsOn)
	if why := facts.UnhealthyMember(hp.Host); err == nil && why != "" && !q.Down {
		err = errors.New(why)
	}
	if err == nil {
		r.soleVoters.Store(hp.Host, len(facts.Voters()) == 1)
		r.quorumProofs.Store(hp.Host, quorumProof{q, gathered})
		return nil
	}
	kind := engine.UnsafeFailure
	if len(foreign) > 0 {
		kind = engine.HeldFailure
		err = fmt.Errorf("%w (held: %s)", err, strings.Join(foreign, ", "))
	}
	return &engine.Failure{Kind: kind, Cause: err.Error()}
}

// isSoleVoter reports whether the last quorum check of a host found no other voter in its cluster. The inventory cannot tell:
// hosts that have given up their voters may still be in it.
func (r *stepRunner) isSoleVoter(host string) bool {
	is, ok := r.soleVoters.Load(host)
	return ok && is.(bool)
}

const (
	maxProofAge = 30 * time.Second // of a quorum check at the start of the next step
	membersTime = 30 * time.Second // for the probes of the other members in a quorum check; its step takes a minute at most
)

// checkTime returns for how long a quorum check may gather its facts without growing old.
func checkTime(c engine.Cluster) time.Duration {
	return membersTime + max(membersTime, toDuration(c.Timeout))
}

// endUnsuspended returns the start of work by the wall clock, plus its duration without suspends of the bastion. It counts
// at most limit, so that work during which the whole process was stopped has ended long ago.
func endUnsuspended(began, ended time.Time, limit time.Duration) time.Time {
	return began.Round(0).Add(min(ended.Sub(began), limit))
}

// wallTimeBetween returns the time between two moments by the wall clock, which goes on while the bastion is suspended. It
// is never negative, so that a clock that was set back makes facts old, too.
func wallTimeBetween(a, b time.Time) time.Duration { return b.Round(0).Sub(a.Round(0)).Abs() }

// quorumProof is a quorum check that succeeded.
type quorumProof struct {
	check engine.Quorum
	at    time.Time // when its facts were gathered, see endUnsuspended
}

// isFresh reports whether a step may rest on the check.
func (p quorumProof) isFresh(now time.Time) bool { return wallTimeBetween(p.at, now) <= maxProofAge }

// renewQuorumProof repeats the quorum check of the step before if the bastion was delayed in it or since, because
// it was suspended, or its disk or terminal was slow: another member may have failed meanwhile.
func (r *stepRunner) renewQuorumProof(ctx context.Context, hp engine.HostPlan, s engine.Step) error {
	p, ok := r.quorumProofs.LoadAndDelete(hp.Host)
	if !ok || !s.Reboots && !s.ChangesHost && s.Do.RestartSurvivors == nil {
		return nil
	}
	if p.(quorumProof).isFresh(r.Clock.Now()) {
		return nil
	}
	if err := r.checkQuorum(ctx, hp, p.(quorumProof).check); err != nil {
		return err
	}
	if p, _ = r.quorumProofs.LoadAndDelete(hp.Host); !p.(quorumProof).isFresh(r.Clock.Now()) {
		return &engine.Failure{Kind: engine.UnsafeFailure, Cause: fmt.Sprintf("two quorum checks in a row were older than %s before they could be used, because the bastion was suspended or slow; %s was not done", engine.Duration(maxProofAge), s.Name)}
	}
	return nil
}

// gatherOtherMembers reads the other hosts of a cluster, for at most membersTime. A host that takes longer counts as unreachable.
func (g *gatherer) gatherOtherMembers(ctx context.Context, host, cluster string) []engine.Facts {
	ctx, cancel := context.WithTimeoutCause(ctx, membersTime, fmt.Errorf("no answer within %s", engine.Duration(membersTime)))
	defer cancel()
	members := slices.DeleteFunc(g.Inventory.Members(cluster), func(h engine.Host) bool { return h.Name == host })
	facts := make([]engine.Facts, len(members))
	workers := pool.New().WithMaxGoroutines(g.forkCount(gatherForks))
	for i, h := range members {
		if facts[i] = (engine.Facts{Host: h.Name}); h.Leaving { // it counts as away, and nobody touches it
			continue
		}
		workers.Go(func() { facts[i] = g.gatherHost(ctx, h) })
	}
	workers.Wait()
	return facts
}
