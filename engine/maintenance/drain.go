package maintenance

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/kubefacts"
	"holdfast/engine/planner"
	"holdfast/engine/resource"
	"holdfast/engine/standing"
)

// leaseTime is how long the lease of a node lasts whose host a person holds. No process renews it for days, and the hold stands until its
// release, also after its end: a tool that resets nodes must not take over the node of an open machine.
const leaseTime = engine.Duration(10 * 365 * 24 * time.Hour)

// hostDrain is the drain of a host under the hold of a person.
type hostDrain struct {
	record engine.HoldDrain
	drain  []engine.Step // the last of them notes that the host is drained
	undo   []engine.Step // none: nothing undoes the drain
}

// NodesToDrain names the nodes that drains of the hosts empty, by Kubernetes cluster, and the clusters that drain through their API.
func (s Site) NodesToDrain(hosts []string) (nodes map[string][]string, byAPI []string) {
	nodes = map[string][]string{}
	for _, name := range hosts {
		t := s.targetOf(name)
		if n := t.Facts.Node; n != nil && n.Node != "" && t.Pool.Drain != nil {
			nodes[n.Kubernetes] = append(nodes[n.Kubernetes], n.Node)
			if t.Pool.Drain.Kubernetes != nil && !slices.Contains(byAPI, n.Kubernetes) {
				byAPI = append(byAPI, n.Kubernetes)
			}
		}
	}
	return nodes, byAPI
}

func (s Site) targetOf(name string) engine.Target {
	h, _ := s.Inventory.Host(name)
	h.Name = name
	p, _ := s.Inventory.Pool(h.Pool)
	return engine.Target{Host: h, Pool: p, Facts: s.factsOf(h)}
}

// planDrain returns the drain of a host, or why it must not begin.
func (r Request) planDrain(s Site, name string) (d hostDrain, failure *engine.Failure) {
	t := s.targetOf(name)
	if failure := s.judgeDrain(t); failure != nil {
		return d, failure
	}
	steps := planner.DrainHost(t)
	if len(steps) != 1 {
		return d, refuseDrain(engine.RefusedFailure, fmt.Sprintf("its pool %s has no drain; add a drain block, or leave --drain out", t.Pool.Name))
	}
	drain := steps[0]
	d.record.Name = t.Pool.Drain.Name
	if n := drain.Do.DrainNode; n != nil {
		n.LeaseFor, n.Options.WhenUnreachable = leaseTime, engine.ExcludeUnreachable
		d.record.Kubernetes, d.record.Node = n.Kubernetes, n.Node
	}
	if drain.Undo != nil {
		d.undo, drain.Undo = []engine.Step{*drain.Undo}, nil
		d.record.Undo = r.digestUndo(t.Pool.Drain)
	}
	done := d.record
	done.Done = true
	d.drain = []engine.Step{drain, noteDrain("note drain", &done)}
	return d, nil
}

// digestUndo returns the digest of the command that undoes a drain, without its secrets, or "".
func (r Request) digestUndo(d *engine.Drain) string {
	if d == nil || d.Undo == "" || d.Kubernetes != nil {
		return ""
	}
	return resource.Digest([]byte(r.Secrets.Hide(d.Undo)))
}

func noteDrain(name string, d *engine.HoldDrain) engine.Step {
	return engine.Step{Name: name, Do: engine.Op{NoteDrain: &engine.NoteDrain{Drain: d}}}
}

func refuseDrain(kind engine.FailureKind, cause string) *engine.Failure {
	return &engine.Failure{Kind: kind, Cause: cause + "; nothing was changed"}
}

// judgeDrain returns why the drain of a host must not begin. The options of the drain decide about obstacles, as in a roll-out. A drain that
// a roll-out would skip because the API is away is never skipped: the person has asked for it.
func (s Site) judgeDrain(t engine.Target) *engine.Failure {
	d, n := t.Pool.Drain, t.Facts.Node
	if d == nil || d.Kubernetes == nil {
		return nil
	}
	switch {
	case n == nil:
		return refuseDrain(engine.UnreachableFailure, "nobody has asked for its node, so it cannot be drained; leave --drain out")
	case n.APIAway:
		return refuseDrain(engine.UnreachableFailure, n.Problem+"; so it cannot be drained: try again once the API answers, or leave --drain out")
	case n.Node == "":
		return refuseDrain(engine.RefusedFailure, n.Problem+planner.AdviseNode)
	case n.Absence.IsForeign():
		return refuseDrain(engine.HeldFailure, n.Text)
	}
	if reason := planner.DescribeBlockedDrain(*d, planner.ForecastDrain(*d, t.Host.Name, *n, s.Workloads[n.Kubernetes])); reason != "" {
		return refuseDrain(engine.RefusedFailure, reason)
	}
	return nil
}

// findDrainObstacles tells everything that may stop the drains of the hosts that are not refused for it.
func (s Site) findDrainObstacles(hosts []string) (notices []engine.MaintenanceNotice) {
	var all []kubefacts.DrainForecast
	for _, name := range hosts {
		t := s.targetOf(name)
		if n := t.Facts.Node; n != nil && n.Node != "" && t.Pool.Drain != nil && s.judgeDrain(t) == nil {
			all = append(all, planner.ForecastDrain(*t.Pool.Drain, name, *n, s.Workloads[n.Kubernetes]))
		}
	}
	for _, text := range planner.WarnOfDrains(all) {
		notices = append(notices, engine.MaintenanceNotice{Kind: engine.DrainAtRisk, Text: text})
	}
	return notices
}

// planDrainedHold adds the drain to the steps of a host that no person holds yet. If the drain fails, the host is given back.
func (r Request) planDrainedHold(s Site, name string, m *engine.HostMaintenance) *engine.Failure {
	d, failure := r.planDrain(s, name)
	if failure != nil {
		return failure
	}
	m.Steps[0].Do.TakeHold.Drain = &d.record
	m.Steps = append(m.Steps, d.drain...)
	if len(d.undo) > 0 {
		m.Undo = append(d.undo, engine.Step{Name: "end hold", Do: engine.Op{EndHold: &engine.EndHold{}}})
	}
	m.Remains, m.Message = remainsDrained(name), "held, and drained"
	return nil
}

// addDrain adds the drain to the steps of a host that the person holds already. If the drain fails, the host stays held.
func (r Request) addDrain(s Site, h engine.Hold, m *engine.HostMaintenance) *engine.Failure {
	d, failure := r.planDrain(s, m.Host)
	switch {
	case h.IsDrained() && (h.Drain.Kubernetes == "" || failure != nil && failure.Kind == engine.UnreachableFailure):
		return nil // pods that have come back are found by another drain, but not a command
	case failure != nil:
		return failure
	}
	if h.Drain == nil {
		m.Steps = append(m.Steps, noteDrain("note drain", &d.record))
	}
	m.Steps = append(m.Steps, d.drain...)
	if len(d.undo) > 0 {
		m.Undo = append(d.undo, noteDrain("forget drain", nil))
	}
	m.Remains = remainsDrained(m.Host)
	return nil
}

func remainsDrained(host string) string {
	return fmt.Sprintf("it stays held, and may be drained: the same command goes on, and holdfast release %s undoes it", host)
}

// planHeld goes on with a host that the person holds already, for example because an earlier command was killed. ok is false for all
// other hosts.
func (r Request) planHeld(s Site, name string) (m engine.HostMaintenance, ok bool) {
	st := standing.View{}.JudgeFacts(s.targetOf(name).Facts)
	if !r.PowerOff && !r.Drain || st.Hold == nil || st.Hold.Run == "" || !r.owns(*st.Hold) {
		return m, false
	}
	m = engine.HostMaintenance{Host: name, Under: st.Hold.Owner(), Found: st.Describe(), Message: "was held already"}
	switch {
	case st.Kind == standing.HeldWhenLastSeen && r.Drain && !st.Hold.IsDrained():
		return leaveAlone(engine.UnreachableFailure, describeUnreached(st)+"; so its hold cannot tell of a drain: make it reachable first, or leave --drain out"), true
	case st.Kind == standing.HeldWhenLastSeen && !r.PowerOff:
		return leaveAlone(engine.UnreachableFailure, describeUnreached(st)), true
	case st.Kind == standing.HeldWhenLastSeen: // it cannot be reached, so only its power is left
		m.Steps = []engine.Step{r.endShutdown()}
	case st.Kind != standing.HeldByPerson:
		return m, false
	case r.Drain:
		if failure := r.addDrain(s, *st.Hold, &m); failure != nil {
			return engine.HostMaintenance{Found: st.Describe(), Failure: failure}, true
		}
	case st.Hold.Drain != nil && !st.Hold.IsDrained() && !r.Force:
		return leaveAlone(engine.RefusedFailure, st.Describe()+"; nothing was changed: use --drain, too, so that the drain ends before the power does, or --force"), true
	}
	if r.PowerOff && st.Kind == standing.HeldByPerson {
		m.Steps = append(m.Steps, r.offSteps(engine.ShutDown(m.Under))...)
	}
	m.Message += describeHeld(r)
	return m, true
}

// describeHeld continues the outcome of a host that is held.
func describeHeld(r Request) string {
	switch {
	case r.Drain && r.PowerOff:
		return ", and is drained and off"
	case r.Drain:
		return ", and is drained"
	}
	return ", and is off"
}

// planUndrain returns the steps that undo the drain of a hold, or why this bastion cannot. With Force, the hold ends even if they fail.
func (r Request) planUndrain(t engine.Target, d engine.HoldDrain) (steps []engine.Step, problem string) {
	switch {
	case d.Kubernetes != "" && t.Host.Kubernetes != d.Kubernetes:
		return nil, fmt.Sprintf("its hold says that node %s of Kubernetes cluster %s is drained, and in the inventory it is no node of this cluster", d.Node, d.Kubernetes)
	case d.Kubernetes != "":
		health := t.Pool.Timeouts.WithDefaults().Health
		wait := engine.AwaitNode{Kubernetes: d.Kubernetes, Node: d.Node, InCurrentBoot: true, Verify: true}
		undrain := engine.UndrainNode{Kubernetes: d.Kubernetes, Node: d.Node, Verify: true}
		steps = []engine.Step{
			{Name: "wait for node", Do: engine.Op{AwaitNode: &wait}, Timeout: health},
			{Name: "undrain", Do: engine.Op{UndrainNode: &undrain}, Timeout: health, ChangesHost: true},
		}
	case d.Undo == "":
		return nil, ""
	case r.digestUndo(t.Pool.Drain) != d.Undo:
		return nil, fmt.Sprintf("its hold says that drain %q has drained it, and the inventory does not have the command that undoes this", d.Name)
	default:
		steps = planner.UndrainByCommand(t)
	}
	if r.Force {
		for i := range steps {
			steps[i].MayFail, steps[i].Timeout = true, min(cmp.Or(steps[i].Timeout, planner.UndoDrainTimeout), planner.UndoDrainTimeout)
		}
	}
	return steps, ""
}

// undrainBeforeEnd undoes the drain of a hold before the hold ends. It returns the cause if the hold must not end.
func (r Request) undrainBeforeEnd(t engine.Target, h engine.Hold, m *engine.HostMaintenance) *engine.Failure {
	steps, problem := r.planUndrain(t, *h.Drain)
	switch {
	case problem != "" && !r.Force:
		return refuseDrain(engine.RefusedFailure, problem+"; use the inventory with which it was held, or undo the drain yourself, and use --force")
	case problem != "":
		m.Message = "released, and its drain is not undone: " + problem
	case len(steps) == 0:
		m.Message = fmt.Sprintf("released; drain %q has no undo", h.Drain.Name)
	}
	m.Steps, m.Under = append(m.Steps, steps...), h.Owner()
	m.Remains = "it is still held and drained: mend this, and release it again; --force ends the hold all the same"
	return nil
}
