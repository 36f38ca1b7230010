package rules

import "holdfast/engine"

// Domain is the kind of thing that changes.
type Domain string

// The domains, in the order in which changes are listed. Groups are of domain
// User, under their GroupName.
const (
	OS         Domain = "os"
	KernelType Domain = "kernelType"
	KernelArg  Domain = "karg"
	Extension  Domain = "extension"
	File       Domain = "file"
	Directory  Domain = "directory"
	Link       Domain = "link"
	Unit       Domain = "unit"
	User       Domain = "user"
)

// Verb is what happens to it.
type Verb string

// The verbs.
const (
	Create Verb = "create"
	Update Verb = "update"
	Delete Verb = "delete"
)

// Change is one difference between two configurations.
type Change struct {
	Domain  Domain          `json:"domain"`
	Name    string          `json:"name"` // path, unit, user, image, kernel argument …
	Verb    Verb            `json:"verb"`
	Rule    string          `json:"rule"`          // the rule that gave it its actions, as Action.Rules names it
	Why     string          `json:"why,omitempty"` // what changed, and why the rule asks for what it does
	Actions []engine.Action `json:"-"`             // what this change alone asks for
	From    engine.Place    `json:"-"`             // where the new configuration says it; for a deletion, where the old one did
}

// Action is something to do so that changes take effect.
type Action struct {
	engine.Action
	Rules   []string        `json:"rules,omitempty"` // why; none for the action "none"
	Timeout engine.Duration `json:"-"`               // how long it may take; 0 if no rule says
}

// Diff is what leads from one configuration to another.
type Diff struct {
	Changes []Change `json:"changes"`
	Actions []Action `json:"actions"` // in the order in which they are carried out; never empty
}

// Equal reports whether there is nothing to change.
func (d Diff) Equal() bool { return len(d.Changes) == 0 }

// Disruptive reports whether the host has to be drained or rebooted.
func (d Diff) Disruptive() bool {
	for _, a := range d.Actions {
		if a.Type == engine.DrainAction || a.Type == engine.RebootAction {
			return true
		}
	}
	return false
}

// Explained is the difference with or without the reasons of its changes.
func (d Diff) Explained(explain bool) Diff {
	if explain {
		return d
	}
	changes := make([]Change, len(d.Changes))
	for i, c := range d.Changes {
		c.Why = ""
		changes[i] = c
	}
	d.Changes = changes
	return d
}
