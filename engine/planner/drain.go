package planner

import (
	"cmp"
	"time"

	"holdfast/engine"
)

// defaultDrainTimeout is the timeout of a drain without one in the inventory.
const defaultDrainTimeout = engine.Duration(10 * time.Minute)

func (w *hostWork) drainHost() []engine.Step {
	if !w.drains {
		return nil
	}
	return drainStep(w.target)
}

// undrainHost undoes the drain of this run, or of the dead run.
func (w *hostWork) undrainHost() []engine.Step {
	if d := w.target.Pool.Drain; !w.isDrained || d == nil || d.Undo == "" {
		return nil
	}
	return []engine.Step{drainCommand(w.target, "undrain", w.target.Pool.Drain.Undo)}
}

func drainStep(t engine.Target) []engine.Step {
	d := t.Pool.Drain
	if d == nil || d.Command == "" {
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
