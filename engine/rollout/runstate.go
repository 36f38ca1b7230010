package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/engine"
	"holdfast/engine/planner"
)

// runState is what a run has achieved so far.
type runState struct {
	gathered Gathered            // what was last seen
	saved    map[string]struct{} // clusters that have their snapshot
	batches  int                 // that have begun
	began    time.Time           // when the run did; zero before its first plan

	// Of the play that is being carried out.
	play      *Play
	earlier   int                     // batches that had begun before it
	approved  *engine.Plan            // nil before
	facts     map[string]engine.Facts // what the last plan was made of
	started   bool                    // the gates that are asked once were
	stagedAll bool                    // what the plan had to stage was staged
	gated     string                  // hosts of the batch whose gates let it begin
	agreed    string                  // hosts of the batch that the operator agreed to

	mu            sync.Mutex
	staged        map[string]int // how often each host was
	updated       []string
	done          map[string]time.Time // hosts that the play has done with
	failed        map[string]string    // hosts that failed, and how
	begun         map[string]bool
	failedActions map[string]*fallback
	adopted       map[string]bool // hosts that a dead run had left behind and this one has taken up
}

func newRunState() *runState {
	return &runState{
		saved: map[string]struct{}{}, staged: map[string]int{}, done: map[string]time.Time{},
		failed: map[string]string{}, begun: map[string]bool{}, failedActions: map[string]*fallback{}, adopted: map[string]bool{},
	}
}

// mustStageFirst reports whether what the plan has to stage is staged before anything
// else is done: once, and at the end of a play once more what got lost meanwhile
// on hosts that are only staged.
func (p *runState) mustStageFirst(plan engine.Plan) bool {
	if len(plan.Lanes) == 0 || p.stagedAll && len(plan.Batches) > 0 {
		return false
	}
	return !p.stagedAll || slices.ContainsFunc(plan.Hosts, func(hp engine.HostPlan) bool { return len(hp.Stage) > 0 && len(hp.Sequence) == 0 })
}

// beginPlay turns to a play.
func (p *runState) beginPlay(play *Play) {
	p.play, p.earlier, p.approved, p.started, p.stagedAll, p.gated, p.agreed = play, p.batches, nil, false, false, "", ""
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.begun, p.staged = map[string]time.Time{}, map[string]bool{}, map[string]int{}
}

// fallback is a host on which a reboot is to stand in for an action that failed.
type fallback struct {
	hp      engine.HostPlan
	passed  sequenceState
	failure *engine.Failure
	pending bool     // nothing has been done about it yet
	running []string // services that ran before
	play    *Play    // in which it failed
}

// noteFallback keeps that a host is to be rebooted in place of an action. It is
// false for one that was to be already: what failed then was not on record.
func (p *runState) noteFallback(hp engine.HostPlan, passed sequenceState, failure *engine.Failure) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failedActions[hp.Host] != nil {
		return false
	}
	p.failedActions[hp.Host] = &fallback{hp, passed, failure, true, p.facts[hp.Host].Running, p.play}
	return true
}

// runningBefore gives the services that ran before an action failed, by host.
func (p *runState) runningBefore() map[string][]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	services := map[string][]string{}
	for host, f := range p.failedActions {
		services[host] = f.running
	}
	return services
}

// hostsWithFailedAction tells on which hosts an action has failed in this play.
func (p *runState) hostsWithFailedAction() map[string]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	hosts := map[string]bool{}
	for host, f := range p.failedActions {
		hosts[host] = f.play == p.play
	}
	return hosts
}

// noteBegun notes that something is being done about a host, perhaps one that
// another run has left.
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

// pendingFallbacks lists the hosts that are still to be rebooted in place of an action,
// but for those that match after all.
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

// mostStagings is how often a host is staged in a run. What is staged can get
// lost, by a reboot that nobody planned; more often than that it is removed.
const mostStagings = 3

// mayStage counts the stagings of a host.
func (p *runState) mayStage(host string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.staged[host] == mostStagings {
		return fmt.Errorf("it was staged %d times, and what was staged is not there", mostStagings)
	}
	p.staged[host]++
	return nil
}

// noteDone notes that a host is what it is to be.
func (p *runState) noteDone(host string, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done[host] = at
	if !slices.Contains(p.updated, host) {
		p.updated = append(p.updated, host)
	}
}

// hasBegun reports whether the run has done anything to a host.
func (p *runState) hasBegun() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.batches > 0 || len(p.staged) > 0
}

// isUndone reports whether a host failed, or the last play began on it and was not
// done with it, whatever plays before did.
func (p *runState) isUndone(host string) bool {
	_, failed := p.failed[host]
	_, done := p.done[host]
	return failed || p.begun[host] && !done
}

// doneSince tells when the play was done with each host.
func (p *runState) doneSince() map[string]time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.done)
}

// adoptedHosts tells which hosts a dead run had left behind and this one took up.
func (p *runState) adoptedHosts() map[string]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.adopted)
}

func (p *runState) noteFailure(host string, f *engine.Failure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed[host] = f.Step + ": " + f.Cause
}

// failureByHost tells which hosts have failed, and how.
func (p *runState) failureByHost() map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.failed)
}

// checkPlan refuses what the operator did not see, and to do anything twice: a
// host that does not match after all went well never will. What was staged there
// may get lost.
func (p *runState) checkPlan(plan engine.Plan) error {
	if err := planner.Check(plan, *p.approved); err != nil {
		return &engine.Failure{Step: "check the plan", Cause: err.Error()}
	}
	if err := planner.Moved(plan, *p.approved, func(host string) bool { return p.begun[host] }); err != nil {
		return &engine.Failure{Step: "check the plan", Cause: err.Error()}
	}
	for _, host := range slices.Sorted(maps.Keys(p.doneSince())) { // always the same is named
		if hp := plan.Host(host); hp != nil && len(hp.Sequence) > 0 {
			return &engine.Failure{Host: host, Step: "check the plan", Cause: "this run has updated it, and it does not match: " + firstRemaining(*hp)}
		}
	}
	return nil
}

func firstRemaining(hp engine.HostPlan) string {
	if len(hp.Changes) == 0 {
		return "run " + hp.Adopt + " holds it"
	}
	return hp.Changes[0].String()
}
