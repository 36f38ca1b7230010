package rules

import (
	"fmt"
	"path"
	"slices"

	"holdfast/engine"
)

// decision is the result of a rule for one change.
type decision struct {
	rule             string
	rank             int // position of the rule among all rules
	why              string
	actions          []engine.Action
	timeout          engine.Duration
	isRegistriesRule bool // built-in rule for registries.conf: the change itself decides about a drain
}

// The ranks of rules. First come the fixed rules, which no policy can weaken.
// Then come the rules of the policy in their order in the inventory, the
// built-in rules, and the default.
const (
	fixedRank   = 0
	policyRank  = 1
	builtinRank = 1 << 20
	defaultRank = 1 << 21
)

func fixedDecision(subject string) decision {
	return decision{rule: "fixed: " + subject, rank: fixedRank, actions: drainAndReboot, why: "always requires a drain and a reboot"}
}

// keepDecision restarts a service that is to survive soft reboots from now on, or no longer.
func keepDecision(unit string) decision {
	return decision{rule: "fixed: keep in the block reboot", rank: fixedRank, actions: []engine.Action{{Type: engine.ReloadDaemon}, {Type: engine.RestartUnit, Unit: unit}}}
}

func loginDecision() decision {
	return decision{rule: "built-in: SSH keys and password hashes", rank: builtinRank + len(builtinRules), actions: noActions, why: "takes effect at the next log-in"}
}

func defaultDecision() decision {
	return decision{rule: "default: no rule", rank: defaultRank, actions: drainAndReboot, why: "no rule covers it"}
}

// decidePath returns the decision for a file, directory or link. Network
// configuration has a fixed decision. Otherwise the rule with the longest
// matching path or pattern wins. With equal lengths, a policy rule wins over a
// built-in rule, and a path wins over a pattern. The length of a pattern is the
// length before its first special character.
func (p Policy) decidePath(name string) decision {
	name = p.links.Resolve(name)
	if tree := networkTree(name); tree != "" {
		return fixedDecision("network configuration " + tree)
	}
	best, length := defaultDecision(), -1
	consider := func(r Rule, v func() decision) {
		if n := p.matchLength(r, name); n > length {
			best, length = v(), n
		}
	}
	for i, r := range p.rules {
		consider(r, func() decision { return ruleDecision(r, "policy: "+r.String(), policyRank+i) })
	}
	for i, r := range builtinRules {
		consider(r, func() decision {
			v := ruleDecision(r, "built-in: "+r.Path, builtinRank+i)
			v.isRegistriesRule = r.Path == registriesPath && name == registriesPath
			return v
		})
	}
	return best
}

func (p Policy) decideUnit(name string) decision {
	for i, r := range p.rules {
		if r.Unit == name {
			return ruleDecision(r, "policy: "+r.String(), policyRank+i)
		}
	}
	for i, r := range builtinRules {
		if r.Unit == name {
			return ruleDecision(r, "built-in: unit "+r.Unit, builtinRank+i)
		}
	}
	return defaultDecision()
}

// matchLength returns -1 if the rule does not match.
func (p Policy) matchLength(r Rule, name string) int {
	const pathFirst = 1
	tree, glob := p.links.ResolveDir(r.Path), p.links.Resolve(r.Glob)
	switch {
	case r.Path != "" && isInTree(name, tree):
		return 2*len(path.Clean(tree)) + pathFirst
	case r.Glob != "" && globMatches(glob, name):
		return 2 * len(literalPrefix(glob))
	}
	return -1
}

func globMatches(glob, name string) bool {
	for glob = path.Clean(glob); ; name = path.Dir(name) {
		if ok, err := path.Match(glob, name); ok && err == nil {
			return true
		}
		if name == "/" || name == "." {
			return false
		}
	}
}

// ruleDecision takes an unknown action for a reboot. A reboot includes a drain.
func ruleDecision(r Rule, name string, rank int) decision {
	v := decision{rule: name, rank: rank, actions: r.Actions, timeout: r.Timeout}
	for _, a := range r.Actions {
		if !isKnownAction(a.Type) {
			v.actions, v.why = drainAndReboot, fmt.Sprintf("the rule has the unknown action %q, which is treated as a reboot", a.Type)
		}
	}
	if slices.ContainsFunc(r.Actions, func(a engine.Action) bool { return a.Type == engine.RebootAction }) {
		v.actions = drainAndReboot
	}
	return v
}

func isKnownAction(t engine.ActionType) bool {
	return slices.Contains([]engine.ActionType{
		engine.NoAction, engine.DrainAction, engine.ReloadDaemon, engine.ReloadUnit, engine.RestartUnit, engine.RebootAction,
	}, t)
}
