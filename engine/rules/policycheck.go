package rules

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/engine/textutil"
)

// Rule is engine.Rule, the element of a pool's policy.
type Rule = engine.Rule

// Policy has the rules of a pool, which go before the built-in ones. The zero
// value has no rules.
type Policy struct {
	rules []Rule
	links resource.Links
}

// WithLinks returns a policy that resolves links in the paths of its rules and
// of changes before it compares them.
func (p Policy) WithLinks(l resource.Links) Policy {
	p.links = l
	return p
}

// NewPolicy checks rules and reports all problems at once. It refuses rules
// for changes that always need a reboot.
func NewPolicy(rules []Rule) (Policy, error) {
	var wrong []error
	seen := map[string]bool{}
	p := Policy{rules: make([]Rule, len(rules))}
	for i, r := range rules {
		r.Actions = unitNames(r.Actions)
		if r.Path != "" && r.Path != "/" {
			r.Path = strings.TrimSuffix(r.Path, "/")
		}
		p.rules[i] = r
		for _, problem := range problemsOf(r) {
			wrong = append(wrong, fmt.Errorf("policy %s: %s", textutil.Printable(r.String()), problem))
		}
		if seen[r.String()] {
			wrong = append(wrong, fmt.Errorf("policy %s: is defined twice; keep one", textutil.Printable(r.String())))
		}
		seen[r.String()] = true
	}
	if err := errors.Join(wrong...); err != nil {
		return Policy{}, err
	}
	return p, nil
}

// unitNames adds missing suffixes to unit names, as systemctl does.
func unitNames(actions []engine.Action) []engine.Action {
	out := make([]engine.Action, len(actions))
	for i, a := range actions {
		if a.Unit != "" && path.Ext(a.Unit) == "" {
			a.Unit += ".service"
		}
		out[i] = a
	}
	return out
}

var unitPattern = regexp.MustCompile(`^[A-Za-z0-9:_.\\@][A-Za-z0-9:_.\\@-]*$`)

// isUnitName checks the length without the pattern: {0,254} in the pattern
// would take a millisecond to compile at each start.
func isUnitName(s string) bool { return len(s) <= 255 && unitPattern.MatchString(s) }

func problemsOf(r Rule) []string {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	given := 0
	for _, s := range []string{r.Path, r.Glob, r.Unit} {
		if s != "" {
			given++
		}
	}
	if given != 1 {
		say("set exactly one of path, glob and unit")
	}
	for _, p := range []string{r.Path, r.Glob} {
		if p != "" && (!path.IsAbs(p) || path.Clean(p) != p) {
			say("is not an absolute path in its simplest form")
		}
		if tree := networkTree(literalPrefix(p)); p != "" && tree != "" {
			say("is network configuration (%s), which always requires a drain and a reboot; no policy can weaken that: remove it", tree)
		}
	}
	if _, err := path.Match(r.Glob, ""); err != nil {
		say("is not a pattern; close the brackets")
	}
	if r.Unit != "" && !isUnitName(r.Unit) {
		say("is not the name of a unit")
	}
	if r.Timeout < 0 {
		say("has a negative timeout")
	}
	return append(wrong, actionProblems(r.Actions)...)
}

func actionProblems(actions []engine.Action) []string {
	var wrong []string
	if len(actions) == 0 {
		wrong = append(wrong, "has no actions; write none if no action is needed")
	}
	for _, a := range actions {
		unit := a.Type == engine.ReloadUnit || a.Type == engine.RestartUnit
		switch {
		case a.Type == engine.NoAction && len(actions) > 1:
			wrong = append(wrong, "has none beside other actions; keep one or the other")
		case unit && !isUnitName(a.Unit):
			wrong = append(wrong, fmt.Sprintf("%s needs the name of a unit", a.Type))
		case !unit && a.Unit != "" && isKnownAction(a.Type):
			wrong = append(wrong, fmt.Sprintf("%s takes no unit", a.Type))
		}
	}
	return wrong
}

func literalPrefix(glob string) string {
	if i := strings.IndexAny(glob, `*?[\`); i >= 0 {
		return glob[:i]
	}
	return glob
}
