package rules

import (
	"fmt"
	"path"
	"slices"

	"holdfast/engine"
)

// verdict is what a rule says about a change.
type verdict struct {
	rule       string
	rank       int // the order of rules among each other
	why        string
	actions    []engine.Action
	timeout    engine.Duration
	registries bool // the rule for registries.conf: whether to drain depends on what changed
}

// The order of rules: what no policy can weaken, the policy's in the order in
// which they are written, the built-in ones, and what holds without a rule.
const (
	fixedRank   = 0
	policyRank  = 1
	builtinRank = 1 << 20
	lastRank    = 1 << 21
)

// fixed is the verdict that no policy can weaken.
func fixed(what string) verdict {
	return verdict{rule: "fixed: " + what, rank: fixedRank, actions: reboot, why: "always takes a drain and a reboot"}
}

// logins is the verdict on SSH keys and password hashes.
func logins() verdict {
	return verdict{rule: "built-in: SSH keys and password hashes", rank: builtinRank + len(builtin), actions: none, why: "holds from the next log-in on"}
}

// unruled is the verdict on what no rule covers.
func unruled() verdict {
	return verdict{rule: "default: no rule", rank: lastRank, actions: reboot, why: "no rule covers it"}
}

// path finds the rule for a file, directory or link: that of network
// configuration, else the longest path or pattern that covers it. Of equals
// the policy's goes before the built-in one, and a path before a pattern. A
// pattern is as long as what comes before its first special character.
func (p Policy) path(name string) verdict {
	if tree := network(name); tree != "" {
		return fixed("network configuration " + tree)
	}
	best, length := unruled(), -1
	consider := func(r Rule, v func() verdict) {
		if n := covers(r, name); n > length {
			best, length = v(), n
		}
	}
	for i, r := range p.rules {
		consider(r, func() verdict { return judged(r, "policy: "+r.String(), policyRank+i) })
	}
	for i, r := range builtin {
		consider(r, func() verdict {
			v := judged(r, "built-in: "+r.Path, builtinRank+i)
			v.registries = r.Path == registriesPath && name == registriesPath
			return v
		})
	}
	return best
}

// unit finds the rule for a unit: that of its exact name.
func (p Policy) unit(name string) verdict {
	for i, r := range p.rules {
		if r.Unit == name {
			return judged(r, "policy: "+r.String(), policyRank+i)
		}
	}
	for i, r := range builtin {
		if r.Unit == name {
			return judged(r, "built-in: unit "+r.Unit, builtinRank+i)
		}
	}
	return unruled()
}

// covers tells how closely a rule fits a path: -1 if it does not.
func covers(r Rule, name string) int {
	const pathFirst = 1
	switch {
	case r.Path != "" && below(name, r.Path):
		return 2*len(path.Clean(r.Path)) + pathFirst
	case r.Glob != "" && matches(r.Glob, name):
		return 2 * len(literal(r.Glob))
	}
	return -1
}

// matches reports whether a pattern matches a path or one it is in.
func matches(glob, name string) bool {
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
func judged(r Rule, name string, rank int) verdict {
	v := verdict{rule: name, rank: rank, actions: r.Actions, timeout: r.Timeout}
	for _, a := range r.Actions {
		if !known(a.Type) {
			v.actions, v.why = reboot, fmt.Sprintf("the rule asks for %q, which is not known and taken for a reboot", a.Type)
		}
	}
	if slices.ContainsFunc(r.Actions, func(a engine.Action) bool { return a.Type == engine.RebootAction }) {
		v.actions = reboot
	}
	return v
}

func known(t engine.ActionType) bool {
	return slices.Contains([]engine.ActionType{
		engine.NoAction, engine.DrainAction, engine.ReloadDaemon, engine.ReloadUnit, engine.RestartUnit, engine.RebootAction,
	}, t)
}
