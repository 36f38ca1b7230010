package report

import (
	"fmt"
	"io"
	"strings"

	"holdfast/engine"
)

// WritePlan shows a plan to a person: what changes, why and how on each group
// of hosts that are alike, in which order, what is left out, and the totals.
// With verbose every step is shown with its bound.
func WritePlan(w io.Writer, p engine.Plan, style Style, verbose bool) error {
	v := planView{p: safe(p), byHost: map[string]*engine.HostPlan{}, style: style, verbose: verbose}
	for i := range v.p.Hosts {
		v.byHost[v.p.Hosts[i].Host] = &v.p.Hosts[i]
	}
	v.refusals()
	v.groups()
	v.order()
	v.excluded()
	v.warnings()
	v.totals()
	_, err := io.WriteString(w, v.b.String())
	return err
}

type planView struct {
	b       strings.Builder
	p       engine.Plan
	byHost  map[string]*engine.HostPlan
	style   Style
	verbose bool
}

func (v *planView) line(format string, args ...any) { fmt.Fprintf(&v.b, format+"\n", args...) }

func (v *planView) refusals() {
	if len(v.p.Refusals) == 0 {
		return
	}
	v.line("%s", v.style.red("Refused: nothing will be touched."))
	for _, r := range v.p.Refusals {
		v.line("  %s", r)
	}
	v.line("")
}

// groups shows hosts whose changes read the same once, folded.
func (v *planView) groups() {
	var order []string
	hosts := map[string][]engine.HostPlan{}
	for _, hp := range v.p.Hosts {
		key := hp.Pool + "\n" + v.describe(hp)
		if hosts[key] == nil {
			order = append(order, key)
		}
		hosts[key] = append(hosts[key], hp)
	}
	for _, key := range order {
		group := hosts[key]
		head := strings.Join(engine.FoldNames(names(group)), ", ")
		if n := len(group); n > 1 {
			head += fmt.Sprintf(" (%d hosts)", n)
		}
		v.line("%s %s", v.style.bold(head), v.style.faint("pool "+group[0].Pool))
		v.b.WriteString(v.describe(group[0]))
		if v.verbose {
			v.steps(group[0])
		}
		v.line("")
	}
}

func names(group []engine.HostPlan) []string {
	var out []string
	for _, hp := range group {
		out = append(out, hp.Host)
	}
	return out
}

// describe is a host's changes and actions as text.
func (v *planView) describe(hp engine.HostPlan) string {
	var b strings.Builder
	for _, c := range hp.Changes {
		fmt.Fprintf(&b, "  %s %s  %s %s %s\n", v.style.yellow("~"), c.Resource, c.Before, v.style.faint("→"), c.After)
		fmt.Fprintf(&b, "      %s  %s\n", actions(c.Actions), v.style.faint(c.Rule))
	}
	if hp.Adopt != "" {
		fmt.Fprintf(&b, "  %s take over the hold of run %s, see that the host is healthy, and release it\n", v.style.yellow("~"), hp.Adopt)
	}
	if len(hp.Changes) > 0 && len(hp.Stage) == 0 {
		fmt.Fprintf(&b, "      %s\n", v.style.faint("staged already"))
	}
	return b.String()
}

func actions(list []engine.Action) string {
	var parts []string
	for _, a := range list {
		parts = append(parts, strings.TrimSpace(string(a.Type)+" "+a.Unit))
	}
	return strings.Join(parts, ", ")
}

func (v *planView) steps(hp engine.HostPlan) {
	v.line("    %s", v.style.faint("steps, as on "+hp.Host+":"))
	for _, s := range append(append([]engine.Step(nil), hp.Stage...), hp.Roll...) {
		command := ""
		if s.Do.Command != nil {
			command = ": " + s.Do.Command.Command
		}
		v.line("      %-18s at most %s%s", s.Name, s.Timeout, command)
	}
}

// order shows what happens when: staging first, then batch by batch.
func (v *planView) order() {
	if len(v.p.Batches) == 0 {
		return
	}
	v.line("%s", v.style.bold("Order"))
	v.lanes()
	for _, s := range v.p.Before {
		v.line("  %s %s", s.Name, s.On)
	}
	v.batches()
	v.line("")
}

// lanes shows staging: members of a cluster in turn, all others side by side.
func (v *planView) lanes() {
	var alone []string
	for _, l := range v.p.Lanes {
		if l.Cluster == "" {
			alone = append(alone, l.Hosts...)
			continue
		}
		v.line("  stage    %s  %s", strings.Join(l.Hosts, ", then "), v.style.faint("one member of "+l.Cluster+" at a time, the leader last"))
	}
	if len(alone) > 0 {
		v.line("  stage    %s  %s", strings.Join(engine.FoldNames(alone), ", "), v.style.faint("side by side"))
	}
}

func (v *planView) excluded() {
	if len(v.p.Excluded) == 0 {
		return
	}
	v.line("%s", v.style.bold("Left out"))
	for _, g := range exclusions(v.p.Excluded, v.verbose) {
		v.line("  %s %s", v.style.yellow(string(g.why)), g.text)
	}
	v.line("")
}

func (v *planView) warnings() {
	for _, w := range v.p.Warnings {
		v.line("%s %s", v.style.yellow("Warning:"), w)
	}
	if len(v.p.Warnings) > 0 {
		v.line("")
	}
}

func (v *planView) totals() {
	if v.p.Empty() {
		v.line("%s", v.style.green(fmt.Sprintf("Nothing to do: %s.", count(len(v.p.Matching), "host matches", "hosts match"))))
		return
	}
	reboots := 0
	for _, hp := range v.p.Hosts {
		for _, a := range hp.Actions {
			if a.Type == engine.RebootAction {
				reboots++
			}
		}
	}
	v.line("Plan: %s to change (%s) in %s; %s, %d left out.", count(len(v.p.Hosts), "host", "hosts"), count(reboots, "reboot", "reboots"),
		count(len(v.p.Batches), "batch", "batches"), count(len(v.p.Matching), "host matches", "hosts match"), len(v.p.Excluded))
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
