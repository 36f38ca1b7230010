package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/engine"
	"holdfast/engine/planner/approval"
	"holdfast/engine/rollout/governing"
)

// runState is the progress of a run.
type runState struct {
	gathered Gathered            // the last facts
	saved    map[string]struct{} // clusters of which the run has taken a snapshot
	batches  int                 // number of batches that began
	began    time.Time           // start of the run; zero before its first plan
	plays    int                 // number of plays that began
	missed   map[string]bool     // hosts that did not get all work of a play that began

	// The next fields are about the current play.
	play      *Play
	earlier   int                     // number of batches before the play
	approved  *engine.Plan            // approved plan; nil before the approval
	facts     map[string]engine.Facts // facts of the last plan
	started   bool                    // the before-run gates were asked
	stagedAll bool                    // the lanes were staged once
	worked    bool                    // a batch, a staging or a snapshot began
	gated     []string                // hosts of the batch whose gates had good answers
	agreed    []string                // hosts of the batch that the operator approved
	toldHeld  map[string]bool         // hosts whose new hold a warning has named

	mu            sync.Mutex
	staged        map[string]int  // how often the play has staged each host
	hasStaged     bool            // the run has staged a host
	restarted     map[string]bool // hosts on which only services were restarted, before their other changes
	updated       []string
	done          map[string]time.Time       // hosts that the play finished
	failed        map[string]string          // hosts that failed, with the cause
	loginFailed   map[string]bool            // hosts whose new login failed
	loginProved   map[string][]engine.Change // by pool: changes that touch logins, and after which a new login has worked
	begun         map[string]bool
	failedActions map[string]*fallback
	idle          governing.Idle
	lost          map[string]*engine.Failure // by cluster: the failure of a host near it whose staging may still run, and is not governed
	adopted       map[string]bool            // hosts whose hold was adopted from a dead run
	found         []string                   // hosts that an earlier run had lost, and that this run has seen match or has updated
}

func newRunState() *runState {
	return &runState{
		saved: map[string]struct{}{}, missed: map[string]bool{}, staged: map[string]int{}, restarted: map[string]bool{}, done: map[string]time.Time{},
		failed: map[string]string{}, loginFailed: map[string]bool{}, loginProved: map[string][]engine.Change{}, begun: map[string]bool{}, toldHeld: map[string]bool{}, failedActions: map[string]*fallback{}, adopted: map[string]bool{}, lost: map[string]*engine.Failure{},
	}
}

// mustStageFirst reports whether staging is the next work. The run stages at
// the beginning of a play. At the end of the play, it stages once more the
// hosts that are only staged and have lost the staged OS.
func (p *runState) mustStageFirst(plan engine.Plan) bool {
	if len(plan.Lanes) == 0 || p.stagedAll && len(plan.Batches) > 0 {
		return false
	}
	return !p.stagedAll || slices.ContainsFunc(plan.Hosts, func(hp engine.HostPlan) bool { return len(hp.Stage) > 0 && len(hp.Sequence) == 0 })
}

func (p *runState) beginPlay(play *Play) {
	p.play, p.earlier, p.approved, p.started, p.stagedAll, p.gated, p.agreed, p.worked = play, p.batches, nil, false, false, nil, nil, false
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.begun, p.staged = map[string]time.Time{}, map[string]bool{}, map[string]int{}
}

// fallback is a host that must be rebooted because an action failed.
type fallback struct {
	hp      engine.HostPlan
	passed  sequenceState
	failure *engine.Failure
	pending bool     // the reboot has not begun
	running []string // services that ran before the action
	play    *Play    // play in which the action failed
}

// noteFallback notes that a reboot must replace an action. It returns false for
// a host that already has a fallback, because the host did not record its first
// failure.
func (p *runState) noteFallback(hp engine.HostPlan, passed sequenceState, failure *engine.Failure) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failedActions[hp.Host] != nil {
		return false
	}
	p.failedActions[hp.Host] = &fallback{hp, passed, failure, true, p.facts[hp.Host].Running, p.play}
	return true
}

func (p *runState) runningBefore() map[string][]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	services := map[string][]string{}
	for host, f := range p.failedActions {
		services[host] = f.running
	}
	return services
}

func (p *runState) hostsWithFailedAction() map[string]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	hosts := map[string]bool{}
	for host, f := range p.failedActions {
		hosts[host] = f.play == p.play
	}
	return hosts
}

func (p *runState) noteBegun(host string, left bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if left {
		p.adopted[host] = true
	}
	p.begun[host] = true
	if f := p.failedActions[host]; f != nil {
		f.pending = false
	}
}

func (p *runState) pendingFallbacks(last engine.Plan) []*fallback {
	var list []*fallback
	for host, f := range p.failedActions {
		if f.pending && !slices.Contains(last.Matching, host) {
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b *fallback) int { return strings.Compare(a.hp.Host, b.hp.Host) })
	return list
}

// mostStagings is how often a run stages a host. An unplanned reboot can remove
// the staged OS. If the OS is lost more often, something else removes it.
const mostStagings = 3

func (p *runState) mayStage(host string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.staged[host] == mostStagings {
		return fmt.Errorf("it was staged %d times, and the staged OS is not there", mostStagings)
	}
	p.staged[host]++
	p.hasStaged = true
	return nil
}

// mayRestartFirst returns an error if the run has restarted services of the host before its other changes already. Such a
// plan comes again only if the restart did not help.
func (p *runState) mayRestartFirst(hp engine.HostPlan) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if hp.RestartsFirst && p.restarted[hp.Host] {
		return fmt.Errorf("this run has restarted %s, which still runs from another root file system than the host; if it has one of its own (chroot, TemporaryFileSystem=), it must not run on during soft reboots: remove it from keep",
			strings.Join(unitsToRestart(hp), ", "))
	}
	p.restarted[hp.Host] = p.restarted[hp.Host] || hp.RestartsFirst
	return nil
}

func unitsToRestart(hp engine.HostPlan) (units []string) {
	for _, s := range hp.Sequence {
		if s.Do.RestartSurvivors != nil {
			units = append(units, s.Do.RestartSurvivors.Units...)
		}
	}
	return units
}

// lostStaging returns the failure of another host near the cluster of a lane, whose
// staging may still run beside that of a host. It returns nil if there is none, or
// if the host is not staged.
func (p *runState) lostStaging(lane engine.Lane, hp engine.HostPlan) *engine.Failure {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.lost[lane.Cluster]
	if f == nil || f.Host == hp.Host || len(hp.Stage) == 0 {
		return nil
	}
	return f
}

func (p *runState) noteLostStaging(lane engine.Lane, f *engine.Failure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost[lane.Cluster] = f
}

// wasStaged reports whether the play has staged the host, or stages it now.
func (p *runState) wasStaged(host string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.staged[host] > 0
}

func (p *runState) noteDone(hp engine.HostPlan, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done[hp.Host] = at
	if !slices.Contains(p.updated, hp.Host) {
		p.updated = append(p.updated, hp.Host)
	}
	p.loginProved[hp.Pool] = append(p.loginProved[hp.Pool], hp.LoginChanges()...)
}

func (p *runState) loginChangesThatWork() map[string][]engine.Change {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.loginProved)
}

func (p *runState) hasBegun() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.batches > 0 || p.hasStaged
}

func (p *runState) isUndone(host string) bool {
	_, failed := p.failed[host]
	_, done := p.done[host]
	return failed || p.missed[host] || p.begun[host] && !done
}

func (p *runState) doneSince() map[string]time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.done)
}

func (p *runState) adoptedHosts() map[string]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.adopted)
}

func (p *runState) noteFailure(host string, f *engine.Failure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed[host] = f.Step + ": " + f.Cause
	if f.LoginLost {
		p.loginFailed[host] = true
	}
}

func (p *runState) hostsWithFailedLogin() map[string]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.loginFailed)
}

func (p *runState) failureByHost() map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.failed)
}

// checkPlan refuses a plan that was not approved, and a plan that repeats work.
// A host that this run updated must match, except for a staged OS that was
// lost.
func (p *runState) checkPlan(plan engine.Plan) error {
	if err := approval.CheckApproved(plan, *p.approved); err != nil {
		return &engine.Failure{Step: "check the plan", Cause: err.Error()}
	}
	if err := approval.CheckUnedited(plan, *p.approved, func(host string) bool { return p.begun[host] }); err != nil {
		return &engine.Failure{Step: "check the plan", Cause: err.Error()}
	}
	for _, host := range slices.Sorted(maps.Keys(p.doneSince())) { // sorted, so that the error always names the same host
		if hp := plan.Host(host); hp != nil && len(hp.Sequence) > 0 {
			return &engine.Failure{Host: host, Step: "check the plan", Cause: "this run has updated it, and it does not match: " + firstRemaining(*hp)}
		}
	}
	return nil
}

func firstRemaining(hp engine.HostPlan) string {
	if len(hp.Changes) == 0 {
		return "run " + hp.Adopt + " holds it, or held it"
	}
	return hp.Changes[0].String()
}
