package rules

import (
	"fmt"
	"path"
	"slices"

	"holdfast/engine"
)

// decision is what a rule says about a change.
type decision struct {
	rule             string
	rank             int // the order of rules among each other
	why              string
	actions          []engine.Action
	timeout          engine.Duration
	isRegistriesRule bool // the rule for registries.conf: whether to drain depends on what changed
}

// The order of rules: what no policy can weaken, the policy's in the order in
// which they are written, the built-in ones, and what holds without a rule.
const (
	fixedRank   = 0
	policyRank  = 1
	builtinRank = 1 << 20
	defaultRank = 1 << 21
)

// fixedDecision is the verdict that no policy can weaken.
func fixedDecision(what string) decision {
	return decision{rule: "fixed: " + what, rank: fixedRank, actions: drainAndReboot, why: "always takes a drain and a reboot"}
}

// loginDecision is the verdict on SSH keys and password hashes.
func loginDecision() decision {
	return decision{rule: "built-in: SSH keys and password hashes", rank: builtinRank + len(builtinRules), actions: noActions, why: "holds from the next log-in on"}
}

// defaultDecision is the verdict on what no rule covers.
func defaultDecision() decision {
	return decision{rule: "default: no rule", rank: defaultRank, actions: drainAndReboot, why: "no rule covers it"}
}

// decidePath finds the rule for a file, directory or link: that of network
// configuration, else the longest path or pattern that covers it. Of equals
// the policy's goes before the built-in one, and a path before a pattern. A
// pattern is as long as what comes before its first special character.
func (p Policy) decidePath(name string) decision {
	if tree := networkTree(name); tree != "" {
		return fixedDecision("network configuration " + tree)
	}
	best, length := defaultDecision(), -1
	consider := func(r Rule, v func() decision) {
		if n := matchLength(r, name); n > length {
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

// decideUnit finds the rule for a unit: that of its exact name.
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

// matchLength tells how closely a rule fits a path: -1 if it does not.
func matchLength(r Rule, name string) int {
	const pathFirst = 1
	switch {
	case r.Path != "" && isInTree(name, r.Path):
		return 2*len(path.Clean(r.Path)) + pathFirst
	case r.Glob != "" && globMatches(r.Glob, name):
		return 2 * len(literalPrefix(r.Glob))
	}
	return -1
}

// globMatches reports whether a pattern matches a path or one it is in.
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

// verdict is the rule applied. A reboot drains first, and an action of an
// unknown kind is a reboot.
func ruleDecision(r Rule, name string, rank int) decision {
	v := decision{rule: name, rank: rank, actions: r.Actions, timeout: r.Timeout}
	for _, a := range r.Actions {
		if !isKnownAction(a.Type) {
			v.actions, v.why = drainAndReboot, fmt.Sprintf("the rule asks for %q, which is not known and taken for a reboot", a.Type)
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
