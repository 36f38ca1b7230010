package planview

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/report/termtext"
	"holdfast/engine/textutil"
)

func (v *planView) splitExclusions() (later, out []engine.Exclusion) {
	refused := len(v.p.Refusals)+len(v.p.Unfinished) > 0
	for _, x := range v.p.Excluded {
		if x.Kind == engine.Closed && v.byHost[x.Host] != nil && !refused {
			later = append(later, x)
		} else {
			out = append(out, x)
		}
	}
	return later, out
}

func (v *planView) writeWindows() {
	staged := v.stagedHosts()
	type key struct {
		reason string
		staged bool
	}
	var groups textutil.Groups[key, string]
	for _, x := range v.later {
		groups.Add(key{x.Reason, staged[x.Host]}, x.Host)
	}
	order := groups.Keys()
	for i, k := range order {
		what := "disrupted in the maintenance window"
		if k.staged {
			what = "staged now, " + what
		}
		v.writeLine("  later    %s  %s", termtext.FoldHosts(groups.Of(k)), v.style.Yellow(what))
		if i+1 == len(order) || order[i+1].reason != k.reason {
			v.b.WriteString(termtext.Wrap("           ", k.reason))
		}
	}
}

func (v *planView) stagedHosts() map[string]bool {
	staged := map[string]bool{}
	for _, l := range v.p.Lanes {
		for _, h := range l.Hosts {
			staged[h] = true
		}
	}
	return staged
}

func (v *planView) writeUnfinished() {
	if len(v.p.Unfinished) == 0 {
		return
	}
	v.writeLine("%s", v.style.Red("Refused: an earlier roll-out is not finished, and this one would bring another OS."))
	for _, l := range UnfinishedLines(v.p.Unfinished, v.verbose) {
		v.writeLine("  %s", l)
	}
	v.writeLine("  %s", "to finish it: give the pools the OS of that roll-out again, and apply")
	var targets []string
	for _, u := range v.p.Unfinished {
		if u.Target != "" && !slices.Contains(targets, u.Target) {
			targets = append(targets, u.Target)
			v.writeLine("      %s", u.Target)
		}
	}
	v.writeLine("  %s", "to leave it unfinished: add --continue-over-incomplete")
	for _, l := range RecordLines(v.p) {
		v.writeLine("  %s", l)
	}
	v.writeLine("")
}

// RecordLines returns lines about the hosts that have recorded the unfinished
// roll-out of a plan. If no run has begun it, one of them made it up.
func RecordLines(p engine.Plan) []string {
	if len(p.RecordedOn) == 0 {
		return nil
	}
	const shown = 8
	hosts := textutil.FoldNames(p.RecordedOn)
	names := strings.Join(textutil.AndMore(hosts[:min(shown, len(hosts))], len(hosts)), ", ")
	return []string{
		"that roll-out is recorded on " + names + ", in " + hostscript.RolloutPath,
		"if no run began it: remove that file there, and find out who wrote it",
	}
}

// UnfinishedLines groups hosts with the same reason. Unless all is set, it
// shortens a long list.
func UnfinishedLines(list []engine.UnfinishedHost, all bool) []string {
	var groups textutil.Groups[string, string]
	for _, u := range list {
		groups.Add(u.Reason, u.Host)
	}
	var lines []string
	shown := 0
	for reason, hosts := range groups.All() {
		if len(lines) == maxExclusionRows && !all {
			return append(lines, fmt.Sprintf("and %s more (--verbose shows all)", termtext.FormatCount(len(list)-shown, "host", "hosts")))
		}
		shown += len(hosts)
		if len(hosts) == 1 {
			lines = append(lines, hosts[0]+" "+reason)
		} else {
			lines = append(lines, termtext.FoldHosts(hosts)+": each "+reason)
		}
	}
	return lines
}

// ExclusionGroup has the excluded hosts with one kind of reason.
type ExclusionGroup struct {
	Kind engine.ExclusionKind
	Text string
}

// maxExclusionRows is the number of hosts with one kind of reason that have a
// row each. More hosts are folded into one line with an example.
const maxExclusionRows = 10

// GroupExclusions groups hosts by their reason. Unless all is set, it folds
// many hosts of one kind, even if their reasons differ.
func GroupExclusions(list []engine.Exclusion, all bool) []ExclusionGroup {
	kinds := map[engine.ExclusionKind]int{}
	for _, x := range list {
		kinds[x.Kind]++
	}
	type key struct {
		why    engine.ExclusionKind
		reason string
	}
	var groups textutil.Groups[key, string]
	for _, x := range list {
		k := key{x.Kind, x.Reason}
		if kinds[x.Kind] > maxExclusionRows && !all {
			k.reason = ""
		}
		groups.Add(k, x.Host)
	}
	var texts []ExclusionGroup
	for k, hosts := range groups.All() {
		text := strings.Join(textutil.FoldNames(hosts), ", ")
		if k.reason != "" {
			text += ": " + k.reason
		} else {
			text += fmt.Sprintf(" (%d hosts)", len(hosts)) + exampleReason(list, k.why)
		}
		texts = append(texts, ExclusionGroup{k.why, text})
	}
	return texts
}

func exampleReason(list []engine.Exclusion, why engine.ExclusionKind) string {
	i := slices.IndexFunc(list, func(x engine.Exclusion) bool { return x.Kind == why })
	return ", such as " + list[i].Host + ": " + list[i].Reason
}
