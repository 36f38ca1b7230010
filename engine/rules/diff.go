package rules

import (
	"holdfast/engine"
	"holdfast/engine/resource"
)

// Change is one difference between two configurations.
type Change struct {
	Kind    engine.Kind             `json:"kind"`
	Name    string                  `json:"name"` // path, unit, user, image, kernel argument …
	Verb    engine.Verb             `json:"verb"`
	Rule    string                  `json:"rule"`             // the rule that decided about the change, as in Action.Rules
	Reason  string                  `json:"reason,omitempty"` // the changed parts, and the reason for the actions
	Actions []engine.Action         `json:"-"`                // the actions that this change alone requests
	Class   string                  `json:"-"`                // name of its RebootClass
	From    resource.SourcePosition `json:"-"`                // position in the new configuration; for a deletion, in the old one
}

// Action makes changes take effect.
type Action struct {
	engine.Action
	Rules   []string        `json:"rules,omitempty"` // the rules that request the action; empty for the action "none"
	Timeout engine.Duration `json:"-"`               // 0: no rule sets a timeout
}

// Diff lists the changes from one configuration to another.
type Diff struct {
	Changes []Change `json:"changes"`
	Actions []Action `json:"actions"` // in execution order; never empty
}

// Equal reports whether there are no changes.
func (d Diff) Equal() bool { return len(d.Changes) == 0 }

// Explained returns the diff, without the reasons of its changes unless
// explain is set.
func (d Diff) Explained(explain bool) Diff {
	if explain {
		return d
	}
	changes := make([]Change, len(d.Changes))
	for i, c := range d.Changes {
		c.Reason = ""
		changes[i] = c
	}
	d.Changes = changes
	return d
}
