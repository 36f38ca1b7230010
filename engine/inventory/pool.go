package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

func (b *builder) readPool(n *node) {
	p := engine.Pool{Name: b.checkName("pool", n, nameRule)}
	if o := n.childBlock("os"); o != nil {
		p.OS = b.readOS(o)
	}
	r := b.newReader(n)
	p.Configs, p.Policy = b.readConfigs(r), b.readPolicy(n)
	p.ConfigRoles = r.readTexts("config_roles")
	p.Drift = readChoice(r, "drift", "repair", engine.ReportDrift)
	p.OnActionFailure = readChoice(r, "on_action_failure", "reboot", engine.StopOnFailure)
	p.Kubernetes = r.readText("kubernetes")
	b.checkReference(n, "kubernetes", p.Kubernetes, "kubernetes")
	p = b.readRollout(r, p)
	if reboot := n.childBlock("reboot"); reboot != nil {
		p.Reboot = b.readReboot(reboot)
		p.Configs = append(p.Configs, keepReader{b}.readKeep(reboot, p)...)
	}
	if d := n.childBlock("drain"); d != nil {
		p.Drain = drainReader{b}.readDrain(d, n, p)
	}
	for _, g := range n.childBlocks("gate") {
		if slices.ContainsFunc(p.Gates, func(other engine.Gate) bool { return other.Name == g.label }) {
			b.addError(g.at, fmt.Sprintf("a second gate %q in pool %q", g.label, n.label), "give each its own name; messages refer to it")
		}
		p.Gates = append(p.Gates, gateReader{b}.readGate(g))
	}
	if t := n.childBlock("timeouts"); t != nil {
		tr := b.newReader(t)
		p.Timeouts = engine.Timeouts{Stage: tr.readDuration("stage"), Reboot: tr.readDuration("reboot"), Health: tr.readDuration("health")}
	}
	checkTimeouts(b, n, p)
	b.poolSSH[p.Name] = b.readSSH(b.siteSSH, n.childBlock("ssh"))
	b.poolPower[p.Name] = powerReader{b}.readPower(n, "", powerSettings{})
	b.inv.Pools = append(b.inv.Pools, p)
}

// checkTimeouts adds an error if a run could hold a host of the pool for longer than engine.MaxRunHold. It is at the
// longest timeout of the timeouts block and the drain.
func checkTimeouts(b *builder, n *node, p engine.Pool) {
	at, longest, total := n.at, engine.Duration(0), engine.Duration(0)
	add := func(block, name string, d engine.Duration) {
		if d > longest && block != "" {
			at, longest = n.childBlock(block).args[name].Expr.Range(), d
		}
		total += min(d, engine.MaxRunHold+1) // so that the sum does not overflow
	}
	add("timeouts", "stage", p.Timeouts.Stage)
	add("timeouts", "reboot", p.Timeouts.Reboot)
	add("timeouts", "health", p.Timeouts.Health)
	if p.Drain != nil {
		add("drain", "timeout", p.Drain.Timeout)
	}
	for _, rule := range p.Policy {
		add("", "", rule.Timeout)
	}
	if total > engine.MaxRunHold {
		b.addError(at, fmt.Sprintf("the timeouts of pool %q are more than 30 days together", p.Name), "shorten them: the hold of a run ends after 30 days")
	}
}

func (b *builder) readReboot(n *node) engine.RebootSetting {
	r := b.newReader(n)
	s := engine.RebootSetting{
		Soft: readChoice(r, "soft", "never", engine.AutoSoft, engine.RequireSoft), Kexec: readChoice(r, "kexec", "never", engine.AutoKexec),
		ResetAfter: r.readDuration("reset_after"),
	}
	if s.ResetAfter > 0 && (time.Duration(s.ResetAfter) < time.Minute || time.Duration(s.ResetAfter) > 24*time.Hour) {
		b.addError(n.args["reset_after"].Expr.Range(), "reset_after must be from 1m to 24h", "give a host more time than its slowest boot takes")
	}
	if s.Soft == engine.RequireSoft && s.Kexec != engine.NeverKexec {
		b.addError(n.at, `soft = "require" allows no kexec`, `set soft = "auto", or remove kexec`)
	}
	return s
}

func (b *builder) readRollout(r reader, p engine.Pool) engine.Pool {
	p.After, p.Paused = r.readTexts("after"), r.readBool("paused", false)
	p.MaxUnavailable = r.readCountOrPercent("max_unavailable", 1)
	p.FailureBudget = cmp.Or(r.readCountOrPercent("failure_budget", 0), b.siteBudget)
	p.Order = readChoice(r, "order", "sorted", engine.ReverseSorted, engine.InInventory, engine.ReverseInventory, engine.Shuffled)
	p.OnFailure = readChoice(r, "on_failure", "hold", engine.RollbackFailed)
	p.VersionCommand = r.readText("version_command")
	p.VersionOf = readChoice(r, "version_of", "os", engine.KubeletVersion)
	switch at := r.node.args["version_of"]; {
	case p.VersionOf == engine.KubeletVersion && p.Kubernetes == "" && !r.isWrong("kubernetes"):
		b.addError(at.Expr.Range(), fmt.Sprintf("pool %q names no Kubernetes cluster that could report versions of kubelets", p.Name), "set kubernetes in the pool, or remove version_of")
	case at != nil && p.VersionCommand != "":
		b.addError(at.Expr.Range(), "version_command prints the version already", "remove version_of or version_command")
	}
	if skew, ok := r.readWholeNumber("max_skew", "a number of minor versions", 0, 1000); ok {
		p.MaxSkew = &skew
	}
	if c := r.node.childBlock("canary"); c != nil {
		cr := b.newReader(c)
		p.Canary = &engine.Canary{Hosts: cr.readCountOrPercent("hosts", 1), Soak: cr.readDuration("soak")}
	}
	p.BatchTakes = r.readDuration("batch_takes")
	p.Windows = b.siteWindows
	if len(r.node.childBlocks("window")) > 0 {
		p.Windows = b.readWindows(r.node)
	}
	b.checkWindowLength(r.node, p)
	return p
}

// readChoice reads an argument that is one of a few words. The word first is the default, and the result for it is "".
func readChoice[T ~string](r reader, name, first string, others ...T) T {
	word := r.readText(name)
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
	r.scope.loader.addError(r.node.args[name].Expr.Range(), fmt.Sprintf("%s must be %s or %s, not %q", name, strings.Join(known[:last], ", "), known[last], word), "")
	return ""
}

func (b *builder) checkDisplayName(n *node) string {
	if n.label == "" || textutil.Printable(n.label) != n.label {
		b.addError(n.at, fmt.Sprintf("%q is not a valid %s name", n.label, n.kind.name), "use printable characters")
	}
	return n.label
}
