package planview

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"holdfast/engine"
	"holdfast/engine/report/governed"
	"holdfast/engine/report/tables"
	"holdfast/engine/report/termtext"
	"holdfast/engine/textutil"
)

// Write writes a plan for a person: changes, rules and actions of each group of alike hosts, the order,
// the exclusions and the totals. With verbose it adds every step with its timeout.
func Write(w io.Writer, p engine.Plan, style termtext.Style, verbose bool) error {
	v := planView{p: termtext.Safe(p), byHost: map[string]*engine.HostPlan{}, style: style, verbose: verbose}
	for i := range v.p.Hosts {
		v.byHost[v.p.Hosts[i].Host] = &v.p.Hosts[i]
	}
	v.later, v.excluded = v.splitExclusions()
	if v.p.Play != "" {
		v.writeLine("%s\n", v.style.Bold("Play "+v.p.Play))
	}
	_ = tables.WriteReservations(&v.b, v.p.Reserved, v.style) // writing to a strings.Builder never fails
	v.writeRefusals()
	v.writeUnfinished()
	v.writeGroups()
	v.writeEtcdUpdates()
	v.writeDrift()
	v.writeOrder()
	v.writeExcluded()
	v.writeUnhealthy()
	v.writeWarnings()
	v.b.WriteString(v.totalsText())
	v.b.WriteString(forecastText(v.p.Forecast))
	_, err := io.WriteString(w, termtext.BreakLines(style.Columns, v.b.String()))
	return err
}

type planView struct {
	b        strings.Builder
	p        engine.Plan
	later    []engine.Exclusion // hosts that wait for their window
	excluded []engine.Exclusion // all other exclusions
	byHost   map[string]*engine.HostPlan
	style    termtext.Style
	verbose  bool
}

func (v *planView) writeLine(format string, args ...any) { fmt.Fprintf(&v.b, format+"\n", args...) }

func (v *planView) writeRefusals() {
	if len(v.p.Refusals) == 0 {
		return
	}
	v.writeLine("%s", v.style.Red("Refused: nothing will be touched."))
	for _, r := range v.p.Refusals {
		v.writeLine("  %s", r)
	}
	v.writeLine("")
}

func (v *planView) writeGroups() {
	var groups textutil.Groups[string, engine.HostPlan]
	for _, hp := range v.p.Hosts {
		key := hp.Pool + "\n" + v.describeHost(hp, true)
		if !v.verbose {
			bare := hp
			bare.Changes = nil
			key = hp.Pool + "\n" + changeShapes(hp.Changes) + "\n" + v.describeHost(bare, true) + fmt.Sprint(hp.Actions, len(hp.Stage) > 0)
		}
		groups.Add(key, hp)
	}
	for _, group := range groups.All() {
		var lists [][]engine.Change
		for _, hp := range group {
			lists = append(lists, hp.Changes)
		}
		group[0].Changes = mergeChanges(lists)
		pool := "pool " + group[0].Pool
		if group[0].NonDisruptive() {
			pool += ", without disruption"
		}
		v.writeLine("%s %s", v.style.Bold(termtext.FoldHosts(planHostNames(group))), v.style.Faint(pool))
		v.b.WriteString(v.describeHost(group[0], v.verbose))
		if v.verbose {
			v.writeSteps(group[0])
		} else if v.p.Play != "" {
			v.writeCommands(group[0])
		}
		v.writeLine("")
	}
}

func planHostNames(group []engine.HostPlan) []string {
	var out []string
	for _, hp := range group {
		out = append(out, hp.Host)
	}
	return out
}

func (v *planView) describeHost(hp engine.HostPlan, all bool) string {
	var b strings.Builder
	if line := describeRestarts(hp); line != "" {
		b.WriteString(termtext.Hang(termtext.Width, "  ", line))
	}
	wanted, drift := splitChanges(hp.Changes, isDrift)
	rest, system := splitChanges(wanted, isOS)
	v.writeChanges(&b, "  ", system, all)
	if len(system) > 0 && len(hp.Stage) == 0 && !hp.RestartsFirst {
		fmt.Fprintf(&b, "      %s\n", v.style.Faint("staged already"))
	}
	v.writeChanges(&b, "  ", rest, all)
	if len(drift) > 0 {
		fmt.Fprintf(&b, "  %s\n", v.style.Bold(driftTitle))
		v.writeChanges(&b, "    ", drift, all)
	}
	if hp.Adopt != "" {
		fmt.Fprintf(&b, "  %s adopt the hold of run %s, see that the host is healthy, and release it\n", v.style.Yellow("~"), hp.Adopt)
	}
	v.writeActions(&b, hp)
	if line := DescribeReboot(hp.Reboot); line != "" {
		b.WriteString(termtext.Hang(termtext.Width, "  ", line))
	}
	if len(hp.Rollback) > 0 {
		b.WriteString("  if it fails once it has rebooted: boots the OS it runs now\n")
	}
	return b.String()
}

func (v *planView) writeSteps(hp engine.HostPlan) {
	v.writeLine("    %s", v.style.Faint("steps, as on "+hp.Host+":"))
	v.writeStepList("      ", hp.Stage)
	v.writeStepList("      ", hp.Sequence)
	if len(hp.Rollback) > 0 {
		v.writeLine("    %s", v.style.Faint("instead of the remaining steps, if it fails after its reboot:"))
		v.writeStepList("      ", hp.Rollback)
	}
}

func (v *planView) writeCommands(hp engine.HostPlan) {
	var lines []string
	for _, s := range slices.Concat(hp.Stage, hp.Sequence) {
		text := ""
		switch {
		case s.Do.Gate != nil:
			text = fmt.Sprintf("%s, at most %s", s.Name, s.Timeout)
		case s.Do.Command != nil, s.Do.Exec != nil && s.Do.Exec.Display != "":
			text = s.Name
			if what := OperationDetail(s.Do); what != ": "+s.Name {
				text += what
			}
		default:
			continue
		}
		lines = append(lines, ansi.Truncate("    "+strings.Join(strings.Fields(text), " "), termtext.Width, "…"))
	}
	if len(lines) > 0 {
		v.writeLine("  %s", v.style.Faint("runs, as on "+hp.Host+" (--verbose shows all steps):"))
		v.writeLine("%s", strings.Join(lines, "\n"))
	}
}

func (v *planView) writeStepList(indent string, steps []engine.Step) {
	for _, s := range steps {
		v.writeLine("%s%-18s at most %s%s", indent, s.Name, s.Timeout, OperationDetail(s.Do))
	}
}

func (v *planView) writeOrder() {
	if len(v.p.Refusals) > 0 || !v.p.HasWork() && len(v.later) == 0 {
		return
	}
	v.writeLine("%s", v.style.Bold("Order"))
	for _, s := range v.p.Start {
		v.writeLine("  %s  %s", s.Name, v.style.Faint("once, before anything is touched"))
		if v.verbose {
			v.writeLine("      at most %s%s", s.Timeout, OperationDetail(s.Do))
		}
	}
	v.writeLanes()
	for _, s := range v.p.Before {
		v.writeLine("  %s %s", s.Name, s.On)
	}
	v.writeBatches()
	v.writeReplanned()
	v.writeWindows()
	v.writeLine("")
}

func (v *planView) writeLanes() {
	var alone []string
	for _, l := range v.p.Lanes {
		if l.Cluster == "" {
			alone = append(alone, l.Hosts...)
			continue
		}
		v.writeLine("  stage    %s  %s", strings.Join(l.Hosts, ", then "), v.style.Faint("one member of "+l.Cluster+" at a time, the leader last"))
		if l.Governing != nil {
			for _, line := range governed.Terms(*l.Governing) {
				v.writeLine("           %s", v.style.Faint(line))
			}
		}
	}
	if len(alone) > 0 {
		v.writeLine("  stage    %s  %s", strings.Join(textutil.FoldNames(alone), ", "), v.style.Faint("side by side"))
	}
}

func (v *planView) writeExcluded() {
	if len(v.excluded) == 0 {
		return
	}
	v.writeLine("%s", v.style.Bold("Left out"))
	for _, g := range GroupExclusions(v.excluded, v.verbose) {
		v.writeLine("  %s %s", v.style.Yellow(string(g.Kind)), g.Text)
	}
	v.writeLine("")
}

// writeUnhealthy skips a refused plan, because the refusals name the unhealthy clusters.
func (v *planView) writeUnhealthy() {
	if len(v.p.UnhealthyClusters) == 0 || len(v.p.Refusals) > 0 {
		return
	}
	_ = tables.WriteUnhealthyClusters(&v.b, v.p.UnhealthyClusters, v.style) // writing to a strings.Builder never fails
	v.writeLine("")
}

func (v *planView) writeWarnings() {
	warnings := slices.Clip(v.p.Warnings)
	for _, c := range v.p.CertificateProblems {
		if !c.FailsBetweenMembers() { // writeUnhealthy has named the others
			warnings = append(warnings, "etcd cluster "+c.Cluster+": "+c.Text)
		}
	}
	for _, w := range warnings {
		v.writeLine("%s %s", v.style.Yellow("Warning:"), w)
	}
	if len(warnings) > 0 {
		v.writeLine("")
	}
}
