package engine

import "time"

// Rule maps the changes of some files, or of a unit, to actions: one entry of a pool's
// policy. Exactly one of Path, Glob and Unit is set.
type Rule struct {
	Path    string   `json:"path,omitempty"`    // the path, and everything below it
	Glob    string   `json:"glob,omitempty"`    // as path.Match has it: * does not cross /; the matching paths, and everything below them
	Unit    string   `json:"unit,omitempty"`    // exact name of a unit
	Actions []Action `json:"actions"`           // of a kind that is not known: a reboot
	Timeout Duration `json:"timeout,omitempty"` // of each action; 0: DefaultActionTimeout
}

// DefaultActionTimeout is how long a reload or restart may take unless its rule says otherwise.
const DefaultActionTimeout = Duration(2 * time.Minute)

// String names the rule as changes and actions do.
func (r Rule) String() string {
	switch {
	case r.Path != "":
		return "path " + r.Path
	case r.Glob != "":
		return "glob " + r.Glob
	}
	return "unit " + r.Unit
}
