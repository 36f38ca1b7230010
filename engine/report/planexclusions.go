package report

import (
	"fmt"
	"slices"

	"holdfast/engine"
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
	var order []key
	hosts := map[key][]string{}
	for _, x := range v.later {
		k := key{x.Reason, staged[x.Host]}
		if hosts[k] == nil {
			order = append(order, k)
		}
		hosts[k] = append(hosts[k], x.Host)
	}
	for i, k := range order {
		what := "disrupted in the maintenance window"
		if k.staged {
			what = "staged now, " + what
		}
		v.writeLine("  later    %s  %s", foldHosts(hosts[k]), v.style.yellow(what))
		if i+1 == len(order) || order[i+1].reason != k.reason {
			v.b.WriteString(wrapText("           ", k.reason))
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

// writeUnfinished writes the hosts that an earlier roll-out left unfinished, which refuses the plan, and the
// ways out.
func (v *planView) writeUnfinished() {
	if len(v.p.Unfinished) == 0 {
		return
	}
	v.writeLine("%s", v.style.red("Refused: an earlier roll-out is not finished, and this one would bring another OS."))
	for _, l := range unfinishedLines(v.p.Unfinished, v.verbose) {
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
	v.writeLine("  %s\n", "to leave it unfinished: add --continue-over-incomplete")
}

// unfinishedLines groups hosts with the same reason. Unless all is set it shortens a long list.
func unfinishedLines(list []engine.UnfinishedHost, all bool) []string {
	var order []string
	hosts := map[string][]string{}
	for _, u := range list {
		if hosts[u.Reason] == nil {
			order = append(order, u.Reason)
		}
		hosts[u.Reason] = append(hosts[u.Reason], u.Host)
	}
	var lines []string
	for i, what := range order {
		if i == maxExclusionRows && !all {
			rest := 0
			for _, other := range order[i:] {
				rest += len(hosts[other])
			}
			return append(lines, fmt.Sprintf("and %s more (--verbose shows all)", formatCount(rest, "host", "hosts")))
		}
		if len(hosts[what]) == 1 {
			lines = append(lines, hosts[what][0]+" "+what)
		} else {
			lines = append(lines, foldHosts(hosts[what])+": each "+what)
		}
	}
	return lines
}

func (v *planView) writeSoak(d engine.Duration, first bool) {
	switch {
	case d <= 0:
	case first:
		v.writeLine("  soak     another %s, as canaries that match already have not run for long enough", d.Trimmed())
	default:
		v.writeLine("  soak     %s", d.Trimmed())
	}
}

func (v *planView) writeGates(b engine.Batch) {
	if !v.verbose {
		return
	}
	for i, s := range slices.Concat(b.Before, b.After) {
		when := "before"
		if i >= len(b.Before) {
			when = "after"
		}
		v.writeLine("      %s it: %s, at most %s%s", when, s.Name, s.Timeout, operationDetail(s.Do))
	}
}

// operationDetail returns the command, the question or the size of the uploads of a step.
func operationDetail(do engine.Op) string {
	switch {
	case do.Command != nil:
		return ": " + do.Command.Command
	case do.Gate != nil:
		return ": " + gateQuestion(*do.Gate) + gateDemands(*do.Gate)
	case do.Pause != nil:
		return ": waits for " + do.Pause.For.Trimmed()
	case do.Defragment != nil:
		return ": the member of " + do.Defragment.Cluster + " does not answer meanwhile"
	case do.Exec != nil && do.Exec.Display != "":
		return ": " + do.Exec.Display
	case do.Exec != nil && len(do.Exec.Uploads) > 0:
		size := 0
		for _, u := range do.Exec.Uploads {
			size += len(u.Data)
		}
		return fmt.Sprintf(", sends %d bytes in %s", size, formatCount(len(do.Exec.Uploads), "file", "files"))
	}
	return ""
}

func gateQuestion(g engine.Gate) string {
	switch {
	case g.HTTP != nil:
		return g.HTTP.URL
	case g.PromQL != nil:
		return g.PromQL.Query + " at " + g.PromQL.URL
	case g.HostCommand != "":
		return g.HostCommand + " on the host"
	}
	return g.Command
}

func gateDemands(g engine.Gate) string {
	text := ""
	if g.HTTP != nil && g.HTTP.Status != 0 {
		text += fmt.Sprintf(", status %d", g.HTTP.Status)
	}
	if g.HTTP != nil && g.HTTP.Match != "" {
		text += fmt.Sprintf(", match %q", g.HTTP.Match)
	}
	if g.Successes > 1 {
		text += fmt.Sprintf(", good %d times in a row", g.Successes)
	}
	if g.Retries != nil {
		text += ", " + formatCount(*g.Retries, "bad answer", "bad answers") + " allowed"
	}
	return text
}
