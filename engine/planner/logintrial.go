package planner

import (
	"slices"

	"holdfast/engine"
)

// loginTrial knows which changes that touch logins have worked on a host of a pool. Each other change goes to one host first.
type loginTrial struct {
	configs   map[any]bool         // the Desired.Config of hosts that match: a login works with all of its contents
	changes   map[loginChange]bool // changes after which a new login has worked
	resources map[string]bool      // resources of these changes
	waiting   map[loginChange]int  // number of hosts that wait for the change
}

// loginChange is a change that touches logins, without the state before it.
type loginChange struct{ resource, after string }

func newLoginTrial(proved []engine.Change) *loginTrial {
	t := &loginTrial{configs: map[any]bool{}, changes: map[loginChange]bool{}, resources: map[string]bool{}, waiting: map[loginChange]int{}}
	for _, c := range proved {
		t.addProved(c)
	}
	return t
}

func (t *loginTrial) addProved(c engine.Change) {
	t.changes[loginChange{c.Resource, c.After}], t.resources[c.Resource] = true, true
}

// addProof notes that a new login has worked on a host after its changes.
func (t *loginTrial) addProof(hp *engine.HostPlan) {
	for _, c := range hp.LoginChanges() {
		t.addProved(c)
	}
}

func (t *loginTrial) addWaiting(hp *engine.HostPlan) {
	for _, c := range hp.LoginChanges() {
		t.waiting[loginChange{c.Resource, c.After}]++
	}
}

// isProved reports whether a new login has worked on another host of the pool after the same changes, or on one that has the
// same configuration and matches. Contents that no other host gets, such as the address of the host, count as proved if a login
// has worked after other contents of the same resource. Else a pool whose hosts have documents of their own would be changed
// host by host.
func (t *loginTrial) isProved(hp *engine.HostPlan, d engine.Desired) bool {
	if t.configs[d.Config] {
		return true
	}
	return !slices.ContainsFunc(hp.LoginChanges(), func(c engine.Change) bool {
		key := loginChange{c.Resource, c.After}
		return !t.changes[key] && (t.waiting[key] > 1 || !t.resources[c.Resource])
	})
}
