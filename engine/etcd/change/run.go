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
	Cluster   engine.Cluster // managed
	Members   []engine.Host  // of the inventory that name the cluster
	Owner     engine.HoldOwner
	Holder    string
	Dead      []string          // runs of this bastion that ended without releasing their holds
	LeftAlone map[string]string // hosts that the inventory tells to leave alone, each with the reason
	Named     []string          // members that a person wants removed, by name or ID

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
	checked, failed map[string]string    // by host: result of the preflight; reason of a failure
	hookDone        bool                 // it has succeeded since this run last changed the voters
	held            map[string]time.Time // by host: when the hold was last taken; zero: the host may be held
	newHolds        int                  // holds that were taken, without renewals
	observed        time.Time            // end of the last observation by the wall clock, without suspends of the bastion meanwhile
	names           map[string]string    // names of named members, by ID
	instead         string               // step that the last call of isNext found in place of its own, for a message
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
	maxFactsAge    = 30 * time.Second // when a step begins that has its hold already
	clockTolerance = time.Second      // between members; etcd warns about a larger difference
)

// LearnerTime is how long a learner may take to catch up.
const LearnerTime = 10 * time.Minute

// Prepare makes the run ready.
func (r *Run) Prepare() {
	r.saved, r.Hosts = r.Cluster.NoSnapshot, stayingHosts{r.Hosts}
	r.checked, r.failed, r.held = map[string]string{}, map[string]string{}, map[string]time.Time{}
	r.versions, r.observed = map[string]string{}, time.Now().Round(0)
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
	return r.journalStep(event.Event{Host: step.Host, Member: step.Member, Step: step.Action.String(), Message: step.Reason}, func() (string, error) {
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

func leftAloneFailure(host, step, reason string) *engine.Failure {
	return &engine.Failure{Host: host, Step: step, Kind: engine.RefusedFailure, Cause: "the host must be left alone: " + reason}
}

// carryOut carries out a step, and returns a message about the outcome.
func (r *Run) carryOut(ctx context.Context, step membership.MemberStep) (string, error) {
	if why := r.LeftAlone[step.Host]; why != "" {
		return "", leftAloneFailure(step.Host, step.Action.String(), why)
	}
	if needsHold(step.Action) {
		next, err := r.takeHoldFor(ctx, step)
		switch {
		case err != nil:
			return "", err
		case !next:
			return nothingDone + r.instead, nil
		}
	}
	if err := r.markHook(step.ChangesVoters() && step.Action != membership.Remove); err != nil { // a removal may be given up
		return "", err
	}
	return actions{r}.runAction(ctx, step)
}

func needsHold(a membership.MemberAction) bool {
	return a != membership.Snapshot && a != membership.Preflight && a != membership.RunHook
}

// actions carries out the actions of steps. The caller has taken the holds.
type actions struct{ *Run }

func (a actions) runAction(ctx context.Context, step membership.MemberStep) (string, error) {
	switch step.Action {
	case membership.Preflight:
		return a.checkNewHost(ctx, step.Host), nil
	case membership.Snapshot:
		ctx, cancel := context.WithTimeout(ctx, snapshotTime)
		defer cancel()
		where, err := a.Snapshot(ctx)
		a.saved = err == nil
		return where, err
	case membership.RunHook:
		return "", a.runHook(ctx)
	case membership.Create:
		return "", a.createCluster(ctx, step.Host)
	case membership.Issue:
		return a.issueCertificates(ctx, step)
	case membership.TrustCA, membership.DropCA:
		return "", a.trustCAs(ctx, step)
	case membership.Configure:
		return "", a.configureMember(ctx, step)
	case membership.AddLearner:
		if err := a.runScript(ctx, step.Host, recordScript(a.Owner, *a.Cluster.Managed, membership.Adding)); err != nil {
			return "", err
		}
		return "", a.retryRefused(ctx, step.Host, func() error { return a.Etcd.AddLearner(ctx, a.peerURL(step.Host)) })
	case membership.Start:
		if step.Member == "" { // of a new cluster
			return "", a.createCluster(ctx, step.Host)
		}
		return a.startMember(ctx, step)
	case membership.Await:
		return a.awaitLearner(ctx, step)
	case membership.Promote:
		return "", a.promoteLearner(ctx, step)
	case membership.MoveLeader:
		to, err := a.Etcd.MoveLeader(ctx, step.Host)
		return "to " + to, err
	case membership.Remove:
		return a.removeMember(ctx, step)
	case membership.SetAside:
		return a.hostOutput(ctx, step.Host, setAsideScript(a.Owner, *a.Cluster.Managed))
	case membership.Forget:
		return "", a.runScript(ctx, step.Host, forgetScript(a.Owner, *a.Cluster.Managed))
	case membership.Done:
	}
	return "", fmt.Errorf("there is no step %q", step.Action)
}

// retryRefused repeats a change while etcd refuses it temporarily, and renews the hold of the host.
func (a actions) retryRefused(ctx context.Context, host string, change func() error) error {
	var refusal error
	_, err := a.waitUnderHold(ctx, host, settleTime, func() (bool, error) {
		refusal = change()
		return refusal == nil || !etcd.IsPassing(refusal), nil
	})
	if err != nil {
		return err
	}
	return refusal
}

func (a actions) createCluster(ctx context.Context, host string) error {
	err := a.runScript(ctx, host, recordScript(a.Owner, *a.Cluster.Managed, membership.Creating))
	if err != nil {
		return err
	}
	if err := a.endAbsences(ctx, host); err != nil {
		return err
	}
	settings := settingsText{
		name: host, managed: *a.Cluster.Managed, peerURL: a.peerURL(host), cluster: host + "=" + a.peerURL(host),
		state: "new", token: a.Cluster.Name + "-" + a.Owner.Run,
	}
	if err := a.startEtcd(ctx, host, settings); err != nil {
		return err
	}
	err = a.awaitFirst(ctx, host, string(membership.Create))
	if err == nil {
		a.saved = true // there is nothing to save yet
	}
	return err
}

// awaitFirst waits until the only member of a new cluster is healthy.
func (a actions) awaitFirst(ctx context.Context, host, step string) error {
	healthy, err := a.waitUnderHold(ctx, host, createTime, func() (bool, error) {
		list := a.Etcd.Members(ctx)
		return len(list.Members) == 1 && list.Members[0].Healthy, nil
	})
	if err == nil && !healthy {
		err = &engine.Failure{
			Host: host, Step: step, Cause: fmt.Sprintf("the first member is not healthy after %s", engine.Duration(createTime).Trimmed()),
			Hint: "journalctl -u " + a.Cluster.Managed.Unit,
		}
	}
	return err
}
