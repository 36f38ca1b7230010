package engine

// Rule maps the changes of some files, or of a unit, to actions: one entry of a pool's
// policy. Exactly one of Path, Glob and Unit is set.
type Rule struct {
	Path    string   `json:"path,omitempty"`    // the path, and everything below it
	Glob    string   `json:"glob,omitempty"`    // a pattern of path.Match, where * matches no slash; the rule also covers everything below a matching path
	Unit    string   `json:"unit,omitempty"`    // exact name of a unit
	Actions []Action `json:"actions"`           // actions that the changes need; an unknown kind counts as a reboot
	Timeout Duration `json:"timeout,omitempty"` // timeout of each action; 0: 2 m
}

// String names the rule in the form that changes and actions print.
func (r Rule) String() string {
	switch {
	case r.Path != "":
		return "path " + r.Path
	case r.Glob != "":
		return "glob " + r.Glob
	}
	return "unit " + r.Unit
}
