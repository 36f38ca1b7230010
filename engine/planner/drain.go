package planner

import (
	"cmp"
	"time"

	"holdfast/engine"
	"holdfast/engine/kubefacts"
)

// defaultDrainTimeout is the timeout of a drain without one in the inventory.
const defaultDrainTimeout = engine.Duration(10 * time.Minute)

// UndoDrainTimeout bounds the undo of a drain, which an API that is away must not delay for long: the next run undoes it then.
const UndoDrainTimeout = engine.Duration(2 * time.Minute)

func (w *hostWork) drainHost() []engine.Step {
	if !w.drains {
		return nil
	}
	return DrainHost(w.target)
}

// undrainHost undoes the drain of this run, or of the dead run. If a run has cordoned the node, its undrain does not depend on the
// present drain of the pool. While the API is away, only the drain of the pool tells that the dead run may have cordoned the node.
func (w *hostWork) undrainHost() []engine.Step {
	d, n := w.target.Pool.Drain, w.target.Facts.Node
	hasNode := n != nil && n.Node != ""
	switch {
	case !w.isDrained:
		return nil
	case hasNode && (n.CordonedBy != "" || d != nil && d.Kubernetes != nil):
		return []engine.Step{undrainNode(w.target, "undrain")}
	case n != nil && n.APIAway && w.adopt != "" && d != nil && d.Kubernetes != nil:
		return []engine.Step{undrainNode(w.target, "undrain")}
	case d == nil || d.Undo == "":
		return nil
	}
	return UndrainByCommand(w.target)
}

// UndrainByCommand returns the undo of a drain that is a command.
func UndrainByCommand(t engine.Target) []engine.Step {
	return []engine.Step{drainCommand(t, "undrain", t.Pool.Drain.Undo)}
}

// DrainHost returns the drain of a host, with the step that undoes it. A host without a drain has no steps.
func DrainHost(t engine.Target) []engine.Step {
	d := t.Pool.Drain
	switch {
	case d == nil:
		return nil
	case d.Kubernetes != nil:
		return drainNode(t, *d.Kubernetes)
	case d.Command == "":
		return nil
	}
	drain := drainCommand(t, "drain", d.Command)
	if d.Undo != "" {
		undo := drainCommand(t, "undo drain", d.Undo)
		drain.Undo = &undo
	}
	return []engine.Step{drain}
}

func drainCommand(t engine.Target, name, command string) engine.Step {
	return engine.Step{Name: name, On: t.Host.Name, Do: engine.Op{Command: &engine.Local{Command: command}}, Timeout: cmp.Or(t.Pool.Drain.Timeout, defaultDrainTimeout), ChangesHost: true}
}

// drainNode drains the node through the API. Without a known node, because the API is away and the drain may be skipped, nothing is drained.
func drainNode(t engine.Target, options engine.KubernetesDrain) []engine.Step {
	n := t.Facts.Node
	if n == nil || n.Node == "" {
		return nil
	}
	undo := undrainNode(t, "undo drain")
	undo.Timeout = UndoDrainTimeout
	drain := engine.DrainNode{Kubernetes: n.Kubernetes, Node: n.Node, Options: options, WasNotReady: n.Absence == kubefacts.NotReady}
	return []engine.Step{{
		Name: "drain", On: t.Host.Name, Do: engine.Op{DrainNode: &drain},
		Timeout: cmp.Or(t.Pool.Drain.Timeout, defaultDrainTimeout), ChangesHost: true, Undo: &undo,
	}}
}

func undrainNode(t engine.Target, name string) engine.Step {
	n := t.Facts.Node
	return engine.Step{
		Name: name, On: t.Host.Name, Do: engine.Op{UndrainNode: &engine.UndrainNode{Kubernetes: n.Kubernetes, Node: n.Node}},
		Timeout: t.Pool.Timeouts.WithDefaults().Health, ChangesHost: true,
	}
}

// setLeaseTime lets the lease of the node last as long as the hold, so that others may take over both at the same time.
func setLeaseTime(sequence []engine.Step, duration engine.Duration) {
	for _, s := range sequence {
		if s.Do.DrainNode != nil {
			s.Do.DrainNode.LeaseFor = duration
		}
	}
}
