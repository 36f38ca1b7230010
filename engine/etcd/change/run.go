package change

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/setting"
	"holdfast/engine/event"
)

// Etcd is the cluster that a run changes.
type Etcd interface {
	Members(ctx context.Context, without ...string) etcd.MemberList
	AddLearner(ctx context.Context, peerURL string) error
	Promote(ctx context.Context, member string) error
	RemoveMember(ctx context.Context, member string) error
	FailedMessages(ctx context.Context, host, member string) (uint64, error)
	MoveLeader(ctx context.Context, host string) (string, error)
	CheckPorts(ctx context.Context, host string, urls []string) error
	CheckReach(ctx context.Context, from, address string) (known bool, err error)
	Revision(ctx context.Context, host string) (int64, error)
}

// Hosts runs scripts as root. An error means that the connection failed.
type Hosts interface {
	Run(ctx context.Context, host engine.Host, script Script) (engine.Output, error)
}

// Hook tells the clients of the cluster about its voters.
type Hook interface {
	IsDue() (bool, error)
	MarkDue() error // before a change of the voters
	RunCommand(ctx context.Context) error
}

// Run changes the members of one cluster.
type Run struct {
	Cluster engine.Cluster // managed
	Members []engine.Host  // of the inventory that name the cluster
	Owner   engine.HoldOwner
	Holder  string
	Dead    []string        // runs of this bastion that ended without releasing their holds
	Paused  map[string]bool // hosts that the inventory pauses
	Named   []string        // members that a person wants removed, by name or ID

	AnyVersion bool // a host may get a member although its etcd does not fit to the cluster

	Etcd  Etcd
	Hosts Hosts

	Certificates *Certificates // nil: holdfast issues none
	Hook         Hook          // nil: there is none

	Snapshot func(context.Context) (string, error)
	Emit     func(event.Event) error // an error ends the run, because every step must be in the journal
	Timeout  time.Duration           // for a learner to catch up

	saved           bool
	accepted        map[membership.MemberStep]bool // without reasons
	repeats         map[membership.MemberStep]int
	checked, failed map[string]string // by host: result of the preflight; reason of a failure
	hookDone        bool              // it has succeeded since this run last changed the voters
	held            map[string]time.Time
	names           map[string]string // names of named members, by ID
	urls            map[string][]string
	members         []membership.Member
	replaced        replacedClusters
	tuned           map[string]setting.Found // by host with data of etcd
	versions        map[string]string        // of etcd, by host without data
	clocks          map[string]clockReading  // by host
}

// Times of a run.
const (
	waitTime       = time.Second      // between two observations of the cluster
	settleTime     = time.Minute      // until the cluster is healthy again after a step
	createTime     = 2 * time.Minute  // until the first member answers
	holdTime       = 20 * time.Minute // of a hold; longer than any step
	renewTime      = 2 * time.Minute  // after which a hold is renewed
	scriptTime     = 2 * time.Minute
	snapshotTime   = time.Duration(engine.SnapshotTimeout)
	clockTolerance = time.Second // between members; etcd warns about a larger difference
)

// LearnerTime is how long a learner may take to catch up.
const LearnerTime = 10 * time.Minute

// Prepare makes the run ready.
func (r *Run) Prepare() {
	r.saved = r.Cluster.NoSnapshot
	r.checked, r.failed, r.held = map[string]string{}, map[string]string{}, map[string]time.Time{}
	r.versions = map[string]string{}
	r.clocks, r.repeats = map[string]clockReading{}, map[membership.MemberStep]int{}
	if r.Timeout == 0 {
		r.Timeout = LearnerTime
	}
}

// Apply changes the members until they match the inventory. It returns a *membership.Refusal if the members must not be
// changed now. It always releases its holds.
func (r *Run) Apply(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, r.releaseAll(context.WithoutCancel(ctx))) }()
	last := membership.MemberStep{}
	for ctx.Err() == nil {
		step, err := r.nextSettled(ctx, last)
		if err != nil {
			return err
		}
		if step.Action == membership.Done {
			return r.releaseLeftovers(ctx)
		}
		if err := r.countStep(step); err != nil {
			return err
		}
		if err := r.doStep(ctx, step); err != nil {
			return err
		}
		if last.Host != step.Host && last.Host != "" {
			if err := r.releaseHold(ctx, last.Host); err != nil {
				return err
			}
		}
		last = step
	}
	return context.Cause(ctx)
}

func (r *Run) doStep(ctx context.Context, step membership.MemberStep) error {
	return r.journalStep(event.Event{Host: step.Host, Member: step.Member, Step: string(step.Action), Message: step.Reason}, func() (string, error) {
		return r.carryOut(ctx, step)
	})
}

func (r *Run) journalStep(e event.Event, carryOut func() (string, error)) error {
	e.Type, e.Cluster = event.StepStarted, r.Cluster.Name
	if err := r.Emit(e); err != nil {
		return err
	}
	began := time.Now()
	message, err := carryOut()
	e.Type, e.Message, e.Took = event.StepEnded, message, engine.Duration(time.Since(began))
	if err != nil {
		e.Failure = failureOf(e.Host, e.Step, err)
	}
	return errors.Join(err, r.Emit(e))
}

func failureOf(host, step string, err error) *engine.Failure {
	var f *engine.Failure
	if errors.As(err, &f) {
		return f
	}
	return &engine.Failure{Host: host, Step: step, Cause: err.Error()}
}

// nothingDone is the message of a step that is no longer the next.
const nothingDone = "the cluster has changed meanwhile; nothing was done"

func pausedFailure(host, step string) *engine.Failure {
	return &engine.Failure{Host: host, Step: step, Kind: engine.RefusedFailure, Cause: "the host is paused in the inventory"}
}

// carryOut carries out a step, and returns a message about the outcome.
func (r *Run) carryOut(ctx context.Context, step membership.MemberStep) (string, error) {
	if r.Paused[step.Host] {
		return "", pausedFailure(step.Host, string(step.Action))
	}
	if needsHold(step.Action) {
		next, err := r.takeHoldFor(ctx, step)
		switch {
		case err != nil:
			return "", err
		case !next:
			return nothingDone, nil
		}
	}
	if err := r.markHook(step.ChangesVoters()); err != nil {
		return "", err
	}
	return r.runAction(ctx, step)
}

func needsHold(a membership.MemberAction) bool {
	return a != membership.Snapshot && a != membership.Preflight && a != membership.RunHook
}

func (r *Run) runAction(ctx context.Context, step membership.MemberStep) (string, error) {
	switch step.Action {
	case membership.Preflight:
		return r.checkNewHost(ctx, step.Host), nil
	case membership.Snapshot:
		ctx, cancel := context.WithTimeout(ctx, snapshotTime)
		defer cancel()
		where, err := r.Snapshot(ctx)
		r.saved = err == nil
		return where, err
	case membership.RunHook:
		return "", r.runHook(ctx)
	case membership.Create:
		return "", r.createCluster(ctx, step.Host)
	case membership.Issue:
		return r.issueCertificates(ctx, step)
	case membership.TrustCA, membership.DropCA:
		return "", r.trustCAs(ctx, step)
	case membership.Configure:
		return "", r.configureMember(ctx, step)
	case membership.AddLearner:
		if err := r.runScript(ctx, step.Host, recordScript(r.Owner, *r.Cluster.Managed, membership.Adding)); err != nil {
			return "", err
		}
		return "", r.retryRefused(ctx, step.Host, func() error { return r.Etcd.AddLearner(ctx, r.peerURL(step.Host)) })
	case membership.Start:
		if step.Member == "" { // of a new cluster
			return "", r.createCluster(ctx, step.Host)
		}
		return r.startMember(ctx, step)
	case membership.Await:
		return r.awaitLearner(ctx, step)
	case membership.Promote:
		return "", r.promoteLearner(ctx, step)
	case membership.MoveLeader:
		to, err := r.Etcd.MoveLeader(ctx, step.Host)
		return "to " + to, err
	case membership.Remove:
		return r.removeMember(ctx, step)
	case membership.SetAside:
		return r.hostOutput(ctx, step.Host, setAsideScript(r.Owner, *r.Cluster.Managed))
	case membership.Forget:
		return "", r.runScript(ctx, step.Host, forgetScript(r.Owner, *r.Cluster.Managed))
	case membership.Done:
	}
	return "", fmt.Errorf("there is no step %q", step.Action)
}

// retryRefused repeats a change while etcd refuses it temporarily, and renews the hold of the host.
func (r *Run) retryRefused(ctx context.Context, host string, change func() error) error {
	var refusal error
	_, err := r.waitUnderHold(ctx, host, settleTime, func() (bool, error) {
		refusal = change()
		return refusal == nil || !etcd.IsPassing(refusal), nil
	})
	if err != nil {
		return err
	}
	return refusal
}

func (r *Run) createCluster(ctx context.Context, host string) error {
	err := r.runScript(ctx, host, recordScript(r.Owner, *r.Cluster.Managed, membership.Creating))
	if err != nil {
		return err
	}
	settings := settingsText{
		name: host, managed: *r.Cluster.Managed, peerURL: r.peerURL(host), cluster: host + "=" + r.peerURL(host),
		state: "new", token: r.Cluster.Name + "-" + r.Owner.Run,
	}
	if err := r.startEtcd(ctx, host, settings); err != nil {
		return err
	}
	err = r.awaitFirst(ctx, host, string(membership.Create))
	if err == nil {
		r.saved = true // there is nothing to save yet
	}
	return err
}

// awaitFirst waits until the only member of a new cluster is healthy.
func (r *Run) awaitFirst(ctx context.Context, host, step string) error {
	healthy, err := r.waitUnderHold(ctx, host, createTime, func() (bool, error) {
		list := r.Etcd.Members(ctx)
		return len(list.Members) == 1 && list.Members[0].Healthy, nil
	})
	if err == nil && !healthy {
		err = &engine.Failure{
			Host: host, Step: step, Cause: fmt.Sprintf("the first member is not healthy after %s", engine.Duration(createTime).Trimmed()),
			Hint: "journalctl -u " + r.Cluster.Managed.Unit,
		}
	}
	return err
}
