package maintenance_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/kubefacts"
	"holdfast/engine/maintenance"
	"holdfast/engine/resource"
)

// drainingSite has w-1 in a pool with a drain, as node n-1 of the cluster main.
func drainingSite(d *engine.Drain, facts engine.Facts, n kubefacts.NodeState) maintenance.Site {
	facts.Host, n.Kubernetes, n.Node = "w-1", "main", "n-1"
	if n.Problem != "" {
		n.Node = ""
	}
	facts.Node = &n
	return maintenance.Site{
		Inventory: engine.Inventory{
			Pools: []engine.Pool{{Name: "worker", Drain: d, MaxUnavailable: engine.CountOrPercent{Count: 1, Set: true}}},
			Hosts: []engine.Host{{Name: "w-1", Pool: "worker", Kubernetes: "main"}},
		},
		Facts: map[string]engine.Facts{"w-1": facts},
	}
}

var (
	jobs = &engine.Drain{Name: "jobs", Command: "drain", Undo: "undrain"}
	pods = &engine.Drain{Name: "pods", Kubernetes: &engine.KubernetesDrain{WhenUnreachable: engine.SkipUnreachable}}
)

func heldAndDrained(d engine.HoldDrain) maintenance.Observed {
	return heldBy(engine.MaintenanceHold, ann, here, func(h *engine.Hold) { h.Drain = &d })
}

var (
	byJobs = engine.HoldDrain{Name: "jobs", Done: true, Undo: resource.Digest([]byte("undrain"))}
	ofNode = engine.HoldDrain{Name: "pods", Done: true, Kubernetes: "main", Node: "n-1", Cordoned: true}
)

func withoutEnd(d engine.HoldDrain) engine.HoldDrain {
	d.Done = false
	return d
}

// TestDrainPlans: a host is held, drained and switched off in this order. A drain that cannot succeed is refused before anything is touched, and
// a host that the person holds already goes on where it is.
func TestDrainPlans(t *testing.T) {
	t.Parallel()
	mine, bobs := heldBy(engine.MaintenanceHold, ann, here), heldBy(engine.MaintenanceHold, "bob@bastion", here)
	last := func(o maintenance.Observed) engine.Facts {
		return engine.Facts{Unreachable: "unreachable: no route", LastHold: &engine.LastHold{Hold: *o.Facts.Hold}}
	}
	blocked := map[string]kubefacts.Workload{"main": {Pods: map[string][]kubefacts.Pod{"n-1": {{Namespace: "t", Name: "alone"}}}}}
	warns := engine.Drain{Name: "pods", Kubernetes: &engine.KubernetesDrain{Blocked: engine.WarnOfBlocked}}
	away := kubefacts.NodeState{APIAway: true, Problem: "the API does not tell"}
	all := "note drain, drain, note drain, stay off, shut down, power off"
	for name, c := range map[string]struct {
		drain     *engine.Drain
		facts     engine.Facts
		node      kubefacts.NodeState
		workloads map[string]kubefacts.Workload
		off       bool
		steps     string
		undo      string
		says      string
		exit      engine.ExitCode
	}{
		"command":                      {drain: jobs, steps: "hold, check budget, drain, note drain", undo: "undo drain, end hold", says: "held, and drained"},
		"command without an undo":      {drain: &engine.Drain{Name: "jobs", Command: "drain"}, steps: "hold, check budget, drain, note drain", says: "held, and drained"},
		"no drain":                     {steps: "", says: "its pool worker has no drain; add a drain block, or leave --drain out; nothing was changed", exit: engine.ExitRefused},
		"node":                         {drain: pods, steps: "hold, check budget, drain, note drain", undo: "undo drain, end hold", says: "held, and drained"},
		"node, and off":                {drain: pods, off: true, steps: "hold, check budget, drain, note drain, stay off, shut down, power off", undo: "undo drain, end hold", says: "held, drained, and off"},
		"API away":                     {drain: pods, node: away, says: "the API does not tell; so it cannot be drained: try again once the API answers, or leave --drain out; nothing was changed", exit: engine.ExitUnreachable},
		"API away, and a command":      {drain: jobs, node: away, steps: "hold, check budget, drain, note drain", undo: "undo drain, end hold", says: "held, and drained"},
		"no node":                      {drain: pods, node: kubefacts.NodeState{Problem: "no node has its name"}, says: "no node has its name; rename the host", exit: engine.ExitRefused},
		"leased":                       {drain: pods, node: kubefacts.NodeState{Absence: kubefacts.Leased, Text: "nhc has the lease of its node"}, says: "nhc has the lease of its node; nothing was changed", exit: engine.ExitRefused},
		"blocked":                      {drain: pods, workloads: blocked, says: "its node cannot be drained: no controller makes the pod again; set force in the drain of its pool to evict it (t/alone); nothing was changed", exit: engine.ExitRefused},
		"blocked, and only a warning":  {drain: &warns, workloads: blocked, steps: "hold, check budget, drain, note drain", undo: "undo drain, end hold", says: "held, and drained"},
		"held by me":                   {drain: pods, facts: mine.Facts, steps: "note drain, drain, note drain", undo: "undo drain, forget drain", says: "was held already, and is drained"},
		"held by me, and off":          {drain: pods, facts: mine.Facts, off: true, steps: all, undo: "undo drain, forget drain", says: "was held already, and is drained and off"},
		"held by bob":                  {drain: pods, facts: bobs.Facts, steps: "hold, check budget, drain, note drain", undo: "undo drain, end hold", says: "held, and drained"}, // the script refuses it
		"begun":                        {drain: pods, facts: heldAndDrained(withoutEnd(ofNode)).Facts, steps: "drain, note drain", undo: "undo drain, forget drain", says: "was held already, and is drained"},
		"drained":                      {drain: pods, facts: heldAndDrained(ofNode).Facts, steps: "drain, note drain", undo: "undo drain, forget drain", says: "was held already, and is drained"},
		"drained, and the API is away": {drain: pods, facts: heldAndDrained(ofNode).Facts, node: away, off: true, steps: "stay off, shut down, power off", says: "was held already, and is drained and off"},
		"begun, and the API is away":   {drain: pods, facts: heldAndDrained(withoutEnd(ofNode)).Facts, node: away, off: true, says: "so it cannot be drained", exit: engine.ExitUnreachable},
		"drained by a command":         {drain: jobs, facts: heldAndDrained(byJobs).Facts, off: true, steps: "stay off, shut down, power off", says: "was held already, and is drained and off"},
		"drained when last seen":       {drain: pods, facts: last(heldAndDrained(ofNode)), off: true, steps: "wait for power off", says: "was held already, and is drained and off"},
		"begun when last seen":         {drain: pods, facts: last(heldAndDrained(withoutEnd(ofNode))), off: true, says: "so its hold cannot tell of a drain", exit: engine.ExitUnreachable},
	} {
		s := drainingSite(c.drain, c.facts, c.node)
		s.Workloads = c.workloads
		r := maintenance.Request{Action: engine.HoldHosts, Hosts: []string{"w-1"}, Holder: ann, Bastion: here, Reason: "DIMM", Drain: true, PowerOff: c.off}
		h := maintenance.NewPlan(r, maintenance.Observation{Site: s}, now).Hosts[0]
		said, exit := h.Message, engine.ExitOK
		if h.Failure != nil {
			said, exit = h.Failure.Cause, maintenance.ExitOf(*h.Failure)
		}
		if got := stepOf(h); got != c.steps || namesOf(h.Undo) != c.undo || !strings.Contains(said, c.says) || exit != c.exit {
			t.Errorf("%s: %q, undo %q, %q, exit %d", name, got, namesOf(h.Undo), said, exit)
		}
		if c.facts.Hold != nil && strings.Contains(said, "already") && h.Under != c.facts.Hold.Owner() {
			t.Errorf("%s: under %+v", name, h.Under)
		}
	}
}

func namesOf(steps []engine.Step) string {
	return stepOf(engine.HostMaintenance{Host: "w-1", Steps: steps})
}

// TestDrainSteps: the drain of a person has the options of the pool, but is never skipped, and its lease outlasts the end of the hold. The hold
// has no command.
func TestDrainSteps(t *testing.T) {
	t.Parallel()
	r := maintenance.Request{Action: engine.HoldHosts, Hosts: []string{"w-1"}, Holder: ann, Bastion: here, Drain: true, For: engine.Duration(time.Hour)}
	h := maintenance.NewPlan(r, maintenance.Observation{Site: drainingSite(pods, engine.Facts{}, kubefacts.NodeState{})}, now).Hosts[0]
	take, drain, done := h.Steps[0].Do.TakeHold, h.Steps[2].Do.DrainNode, h.Steps[3].Do.NoteDrain
	if *take.Drain != (engine.HoldDrain{Name: "pods", Kubernetes: "main", Node: "n-1"}) || drain.Options.WhenUnreachable != "" || drain.LeaseFor < engine.Duration(365*24*time.Hour) || !done.Drain.Done {
		t.Errorf("%+v, %+v, %+v", take, drain, done.Drain)
	}
	if pods.Kubernetes.WhenUnreachable != engine.SkipUnreachable {
		t.Error("the inventory has changed")
	}
	h = maintenance.NewPlan(r, maintenance.Observation{Site: drainingSite(jobs, engine.Facts{}, kubefacts.NodeState{})}, now).Hosts[0]
	if d := *h.Steps[0].Do.TakeHold.Drain; d != withoutEnd(byJobs) {
		t.Errorf("%+v", d)
	}
}

// TestNoPowerOffBeforeTheDrain: a host whose drain has only begun is not switched off without --drain.
func TestNoPowerOffBeforeTheDrain(t *testing.T) {
	t.Parallel()
	for force, want := range map[bool]string{false: "", true: "stay off, shut down, power off"} {
		r := maintenance.Request{Action: engine.HoldHosts, Hosts: []string{"w-1"}, Holder: ann, Bastion: here, PowerOff: true, Force: force}
		h := maintenance.NewPlan(r, maintenance.Observation{Site: drainingSite(pods, heldAndDrained(withoutEnd(ofNode)).Facts, kubefacts.NodeState{})}, now).Hosts[0]
		if got := stepOf(h); got != want || (h.Failure == nil) == (want == "") {
			t.Errorf("force %v: %q, %v", force, got, h.Failure)
		}
	}
}

// TestUndrainPlans: a release undoes exactly the drain that the hold tells of, if the inventory has the same undo.
func TestUndrainPlans(t *testing.T) {
	t.Parallel()
	other := byJobs
	other.Undo = resource.Digest([]byte("another"))
	elsewhere := ofNode
	elsewhere.Kubernetes = "other"
	for name, c := range map[string]struct {
		drain  *engine.Drain
		record engine.HoldDrain
		force  bool
		on     bool
		steps  string
		says   string
	}{
		"command":                        {jobs, byJobs, false, false, "undrain, end hold", "released"},
		"command that has begun":         {jobs, withoutEnd(byJobs), false, false, "undrain, end hold", "released"},
		"command, after power":           {jobs, byJobs, false, true, "power on, wait for its answer, undrain, end hold", "released"},
		"another command":                {jobs, other, false, false, "", `its hold says that drain "jobs" has drained it, and the inventory does not have the command that undoes this; use the inventory with which it was held`},
		"another command, forced":        {jobs, other, true, false, "end hold", "released, and its drain is not undone: its hold says"},
		"no drain any more":              {nil, byJobs, false, false, "", "does not have the command"},
		"a node now":                     {pods, byJobs, false, false, "", "does not have the command"},
		"no undo":                        {jobs, engine.HoldDrain{Name: "jobs", Done: true}, false, false, "end hold", `released; drain "jobs" has no undo`},
		"node":                           {pods, ofNode, false, false, "wait for node, undrain, end hold", "released"},
		"node, and the pool drains none": {nil, ofNode, false, false, "wait for node, undrain, end hold", "released"},
		"node, after power":              {pods, ofNode, false, true, "power on, wait for its answer, wait for node, undrain, end hold", "released"},
		"node, forced":                   {pods, ofNode, true, false, "wait for node, undrain, end hold", "released"},
		"of another cluster":             {pods, elsewhere, false, false, "", "in the inventory it is no node of this cluster"},
		"of another cluster, forced":     {pods, elsewhere, true, false, "end hold", "released, and its drain is not undone"},
	} {
		seen := heldAndDrained(c.record)
		o := maintenance.Observation{Holds: map[string]maintenance.Observed{"w-1": seen}, Site: maintenance.Site{Inventory: drainingSite(c.drain, engine.Facts{}, kubefacts.NodeState{}).Inventory}}
		r := maintenance.Request{Action: engine.ReleaseHosts, Hosts: []string{"w-1"}, Holder: ann, Bastion: here, Force: c.force, PowerOn: c.on}
		h := maintenance.NewPlan(r, o, now).Hosts[0]
		said := h.Message
		if h.Failure != nil {
			said = h.Failure.Cause
		}
		if got := stepOf(h); got != c.steps || !strings.Contains(said, c.says) || (h.Failure != nil) != (c.steps == "") {
			t.Errorf("%s: %q, %q", name, got, said)
		}
		for _, s := range h.Steps {
			undoes := s.Name == "wait for node" || s.Name == "undrain"
			if s.MayFail != (undoes && c.force) || undoes && h.Under != seen.Facts.Hold.Owner() || undoes && c.force && s.Timeout > engine.Duration(2*time.Minute) {
				t.Errorf("%s: %+v under %+v", name, s, h.Under)
			}
			if u := s.Do.UndrainNode; u != nil && (!u.Verify || u.Node != "n-1") {
				t.Errorf("%s: %+v", name, u)
			}
		}
	}
}

// TestDrainsKeepTheirOrder: a host is switched off only after its drain is noted, and is not drained under the hold of another.
func TestDrainsKeepTheirOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := engine.Facts{Clock: now, Unreachable: rapid.SampledFrom([]string{"", "", "timeout"}).Draw(t, "off")}
		if rapid.Bool().Draw(t, "held") {
			f.Hold = &engine.Hold{Kind: engine.HoldKind(rapid.SampledFrom([]string{"run", "maintenance"}).Draw(t, "kind")), Holder: rapid.SampledFrom([]string{ann, "bob@bastion"}).Draw(t, "holder"), Bastion: here, Run: "r1"}
			if record := rapid.SampledFrom([]*engine.HoldDrain{nil, {Name: "jobs"}, {Name: "pods", Kubernetes: "main", Node: "n-1"}, &byJobs, &ofNode}).Draw(t, "record"); record != nil {
				clone := *record
				f.Hold.Drain = &clone
			}
			if f.Unreachable != "" && rapid.Bool().Draw(t, "remembered") {
				f.LastHold = &engine.LastHold{Hold: *f.Hold}
			}
		}
		n := kubefacts.NodeState{}
		if rapid.Bool().Draw(t, "away") {
			n.APIAway, n.Problem = true, "away"
		}
		r := maintenance.Request{Action: engine.HoldHosts, Hosts: []string{"w-1"}, Holder: ann, Bastion: here, PowerOff: rapid.Bool().Draw(t, "power off"), Drain: true}
		h := maintenance.NewPlan(r, maintenance.Observation{Site: drainingSite(rapid.SampledFrom([]*engine.Drain{jobs, pods, nil}).Draw(t, "drain"), f, n)}, now).Hosts[0]
		drained := f.Hold != nil && f.Hold.IsDrained()
		for _, s := range h.Steps {
			switch do := s.Do; {
			case do.NoteDrain != nil:
				drained = do.NoteDrain.Drain.Done
			case do.ShutDown != nil && !drained, do.SwitchPower != nil && !drained:
				t.Fatalf("%s before the drain: %s", s.Name, stepOf(h))
			case (do.DrainNode != nil || do.Command != nil) && h.Steps[0].Do.TakeHold == nil && (f.Hold == nil || f.Hold.Holder != ann || f.Hold.Kind != engine.MaintenanceHold):
				t.Fatalf("drained without a hold: %s", stepOf(h))
			}
		}
	})
}
