package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
)

func (b *builder) pool(n *node) {
	p := engine.Pool{Name: b.name("pool", n, nameRule)}
	if o := n.one("os"); o != nil {
		p.OS = b.os(o)
	}
	r := b.read(n)
	p.Configs, p.Policy = b.configs(r), b.policy(n)
	p.Drift = choose(r, "drift", "way to treat drift", "repair", engine.ReportDrift)
	p.OnActionFailure = choose(r, "on_action_failure", "answer to a failed action", "reboot", engine.StopOnFailure)
	p = b.rollout(r, p)
	if d := n.one("drain"); d != nil {
		dr := b.read(d)
		p.Drain = &engine.Drain{Name: b.label(d), Command: dr.text("command"), Undo: dr.text("undo"), Timeout: dr.span("timeout")}
	}
	for _, g := range n.all("gate") {
		if slices.ContainsFunc(p.Gates, func(other engine.Gate) bool { return other.Name == g.label }) {
			b.fail(g.at, fmt.Sprintf("a second gate %q in pool %q", g.label, n.label), "give each its own name; messages call them by it")
		}
		p.Gates = append(p.Gates, b.gate(g))
	}
	if t := n.one("timeouts"); t != nil {
		tr := b.read(t)
		p.Timeouts = engine.Timeouts{Stage: tr.span("stage"), Reboot: tr.span("reboot"), Health: tr.span("health")}
	}
	b.poolSSH[p.Name] = b.ssh(b.siteSSH, n.one("ssh"))
	b.inv.Pools = append(b.inv.Pools, p)
}

// rollout reads how the hosts of a pool follow each other. What the pool does
// not say, the site may.
func (b *builder) rollout(r reader, p engine.Pool) engine.Pool {
	p.After, p.Paused = r.texts("after"), r.truth("paused", false)
	p.MaxUnavailable = r.limit("max_unavailable", 1)
	p.FailureBudget = cmp.Or(r.limit("failure_budget", 0), b.siteBudget)
	p.Order = choose(r, "order", "order", "sorted", engine.ReverseSorted, engine.InInventory, engine.ReverseInventory, engine.Shuffled)
	p.OnFailure = choose(r, "on_failure", "answer to a failed host", "hold", engine.RollbackFailed)
	p.VersionCommand = r.text("version_command")
	if skew, ok := r.whole("max_skew", "a number of minor versions", 0, 1000); ok {
		p.MaxSkew = &skew
	}
	if c := r.n.one("canary"); c != nil {
		cr := b.read(c)
		p.Canary = &engine.Canary{Hosts: cr.limit("hosts", 1), Soak: cr.span("soak")}
	}
	p.BatchTakes = r.span("batch_takes")
	p.Windows = b.siteWindows
	if len(r.n.all("window")) > 0 {
		p.Windows = b.windows(r.n)
	}
	b.fits(r.n, p)
	return p
}

// choose reads a word out of a few. The first stands for the zero value, which
// also holds where no word is given.
func choose[T ~string](r reader, name, what, first string, others ...T) T {
	word := r.text(name)
	if word == "" || word == first {
		return ""
	}
	known := []string{fmt.Sprintf("%q", first)}
	for _, o := range others {
		if word == string(o) {
			return o
		}
		known = append(known, fmt.Sprintf("%q", string(o)))
	}
	last := len(known) - 1
	r.s.l.fail(r.n.args[name].Expr.Range(), fmt.Sprintf("no %s named %q", what, word), "there are "+strings.Join(known[:last], ", ")+" and "+known[last])
	return ""
}

// label checks the name of something that only people refer to.
func (b *builder) label(n *node) string {
	if n.label == "" || engine.Printable(n.label) != n.label {
		b.fail(n.at, fmt.Sprintf("%q is no %s name", n.label, n.kind.name), "give it one that people can read")
	}
	return n.label
}
