package change

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd/database"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/restore"
	"holdfast/engine/event"
)

// Restore restores a cluster that has lost its quorum for good: the first voter by the steps of package restore, the others by
// the steps of package membership.
type Restore struct {
	Run      *Run          // prepared
	Snapshot *SnapshotFile // nil: use the freshest data directory
	Lost     []string      // hosts and members that are gone for good

	From        string           // host whose data a person has chosen; "": the freshest
	SameCluster bool             // a person has said that the snapshot is of this cluster
	Saved       []restore.Source // snapshots that runs have saved of this cluster
	LineagePath string           // file on the bastion that records restores; "": none

	// Upload runs a script with input on its standard input.
	Upload func(ctx context.Context, host engine.Host, script Script, input io.Reader) (engine.Output, error)

	approved         string // identity of the source that a person has approved; "": new data of an earlier run are complete
	highest          int64  // highest revision that clients may know
	checked, cleaned map[string]bool
	failed           map[string]string
	data             map[string]restore.Data
	peerURLs         map[string][]string
	seen             replacedClusters // clusters whose data this run has seen
	replaced         replacedClusters // for the record on the hosts
	revision         int64            // required of the new cluster; 0: unknown

	lineage     lineage // of the hosts, and of the bastion
	lineageRead bool
	relations   map[[2]string]database.Relation // of data of the same cluster, by their hosts
}

// SnapshotFile is a snapshot on the bastion, whose contents were read.
type SnapshotFile struct {
	Path     string
	Size     int64
	SHA256   string // hexadecimal
	Time     time.Time
	Contents database.Contents
}

// Limits of a restore. The times are shorter than a hold, which is renewed before each long script.
const (
	uploadTime = 15 * time.Minute
	buildTime  = 15 * time.Minute
	maxSteps   = 1000
)

// Prepare makes the restore ready.
func (r *Restore) Prepare() {
	r.checked, r.cleaned, r.failed = map[string]bool{}, map[string]bool{}, map[string]string{}
	r.data, r.peerURLs = map[string]restore.Data{}, map[string][]string{}
	r.relations = map[[2]string]database.Relation{}
}

// Accept notes that a person has approved the forecast. highest is the highest known revision; the revisions of the new
// cluster begin above it.
func (r *Restore) Accept(f restore.Forecast, highest int64) {
	r.approved, r.highest = f.Source.Identity, highest
}

// Apply restores the cluster and lets it grow. It returns a *restore.Refusal or a *membership.Refusal if something stands in
// the way. Holds are released in any case.
func (r *Restore) Apply(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, r.Run.releaseAll(context.WithoutCancel(ctx))) }()
	for range maxSteps {
		s, err := r.Observe(ctx)
		if err != nil {
			return err
		}
		step, err := restore.Next(s)
		if err != nil {
			return err
		}
		if err := r.doStep(ctx, s, step); err != nil {
			return err
		}
		if step.Action == restore.Finish {
			return r.growCluster(ctx)
		}
	}
	return fmt.Errorf("%d steps did not restore the cluster: its hosts are not as the steps leave them", maxSteps)
}

// growCluster adds the other voters. The person has approved them with the restore.
func (r *Restore) growCluster(ctx context.Context) error {
	s, err := r.Run.Settled(ctx)
	if err != nil {
		return err
	}
	r.Run.Accept(membership.Plan(s))
	if err := r.Run.Apply(ctx); err != nil {
		return fmt.Errorf("the cluster is restored, but does not have all its voters: %w", err)
	}
	return nil
}

func (r *Restore) doStep(ctx context.Context, s restore.State, step restore.Step) error {
	return r.Run.journalStep(event.Event{Host: step.Host, Step: step.Action.String(), Message: step.Reason}, func() (string, error) {
		return r.carryOut(ctx, s, step)
	})
}

// carryOut carries out a step, and returns a message about the outcome.
func (r *Restore) carryOut(ctx context.Context, s restore.State, step restore.Step) (string, error) {
	host, m := step.Host, *r.Run.Cluster.Managed
	if why := r.Run.LeftAlone[host]; why != "" {
		return "", leftAloneFailure(host, step.Action.String(), why)
	}
	if step.Action == restore.Preflight {
		return r.checkHost(ctx, host), nil
	}
	next, err := r.Run.takeHoldIf(ctx, membership.MemberStep{Host: host}, func() (bool, error) { return r.isNext(ctx, step) })
	switch {
	case err != nil:
		return "", err
	case !next && step.Action == restore.Finish: // the growth that follows was approved for the restored cluster
		return "", &engine.Failure{Host: host, Step: step.Action.String(), Kind: engine.RefusedFailure, Cause: nothingDone + "; run it again"}
	case !next:
		return nothingDone, nil
	}
	switch step.Action {
	case restore.Issue:
		return actions{r.Run}.issueCertificates(ctx, membership.MemberStep{Action: membership.Issue, Host: host, Reason: step.Reason})
	case restore.Build:
		return r.buildData(ctx, s, host)
	case restore.SetAside:
		where, err := r.Run.hostOutput(ctx, host, setAsideScript(r.Run.Owner, m))
		r.cleaned[host] = err == nil
		return where, err
	case restore.Replace:
		return r.Run.hostOutput(ctx, host, replaceScript(r.Run.Owner, m, r.replaced))
	case restore.Start:
		if err := r.Run.markHook(true); err != nil {
			return "", err
		}
		return r.startCluster(ctx, host)
	case restore.Finish:
		if err := r.Run.markHook(true); err != nil { // another bastion may have started it
			return "", err
		}
		return "", r.finishRestore(ctx, s, host)
	case restore.Preflight:
	}
	return "", fmt.Errorf("there is no step %q", step.Action)
}

func (r *Restore) isNext(ctx context.Context, step restore.Step) (bool, error) {
	s, err := r.Observe(ctx)
	if err != nil {
		return false, err
	}
	now, err := restore.Next(s)
	now.Reason = step.Reason
	return err == nil && now == step, nil // the next call of Next returns the refusal
}

func (r *Restore) checkHost(ctx context.Context, host string) string {
	size := int64(0)
	if r.Snapshot != nil {
		size = r.Snapshot.Size
	} else if n, _, err := (&hostFile{ctx: ctx, run: r.Run, host: host}).readPart(0, 0); err == nil {
		size = n
	}
	message := actions{r.Run}.checkNewHost(ctx, host)
	if reason, failed := r.Run.failed[host]; failed {
		r.failed[host] = reason
		return reason
	}
	if err := r.Run.runScript(ctx, host, toolsScript(*r.Run.Cluster.Managed, size)); err != nil {
		r.failed[host] = failureOf(host, string(restore.Preflight), err).Cause
		return r.failed[host]
	}
	r.checked[host] = true
	return message
}

// newSettings returns the settings of the new cluster of one voter. The token contains the ID of this run, so the cluster gets
// a new ID. The state "existing" prevents that etcd makes another cluster after a loss of the data.
func (r *Restore) newSettings(host string, source restore.Source) settingsText {
	if len(r.Run.urls) == 0 {
		r.Run.urls = map[string][]string{}
		for _, m := range source.Members {
			r.Run.urls[m.ID] = r.peerURLs[m.ID]
		}
	}
	own := r.Run.peerURL(host)
	return settingsText{
		name: host, managed: *r.Run.Cluster.Managed, peerURL: own, cluster: host + "=" + own,
		state: "existing", token: r.Run.Cluster.Name + "-" + r.Run.Owner.Run,
	}
}

// startCluster starts the new cluster, and waits until its voter is healthy and has the revision.
func (r *Restore) startCluster(ctx context.Context, host string) (string, error) {
	settings := r.newSettings(host, restore.Source{})
	if err := (actions{r.Run}).startRestored(ctx, host, settings); err != nil {
		return "", err
	}
	if err := (actions{r.Run}).awaitFirst(ctx, host, string(restore.Start)); err != nil {
		return "", err
	}
	revision, err := r.Run.Etcd.Revision(ctx, host)
	if err == nil && revision < r.revision {
		err = fmt.Errorf("it has revision %d, and not %d", revision, r.revision)
	}
	return fmt.Sprintf("revision %d", revision), err
}

// finishRestore records the replaced clusters on all hosts that answer. So later runs recognise old data that come back.
func (r *Restore) finishRestore(ctx context.Context, s restore.State, host string) error {
	owner, m := r.Run.Owner, *r.Run.Cluster.Managed
	if err := r.writeLineage(); err != nil { // another bastion may have built the data
		return err
	}
	for _, h := range s.Hosts {
		if h.Unreachable != "" {
			continue
		}
		if err := r.Run.takeHold(ctx, membership.MemberStep{Host: h.Name}); err != nil {
			return err
		}
		if err := r.Run.runScript(ctx, h.Name, noteScript(owner, m, r.replaced)); err != nil {
			return err
		}
	}
	return r.Run.runScript(ctx, host, forgetScript(owner, m))
}
