package report

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/textutil"
)

// EndText returns the outcome of a run in a few words, with the numbers of its
// hosts. The views show the details above it.
func EndText(end event.RunEnd) string {
	if end.Maintenance != "" {
		return maintenanceText(end)
	}
	if end.Verdict.Declined && len(end.Updated)+len(end.Failed)+end.HoldsTaken == 0 {
		return "not approved; no host was disrupted"
	}
	parts := listOutcomes(end.Verdict)
	if counts := countHosts(end); len(counts) > 0 {
		parts = append(parts, strings.Join(counts, ", "))
	}
	switch {
	case len(parts) > 0:
	case end.Exit != engine.ExitOK:
		parts = []string{"ended"}
	case end.Complete:
		parts = []string{"every host matches"}
	default:
		parts = []string{"done; the site is not complete"}
	}
	return strings.Join(append(parts, countChanged(end)...), "; ")
}

func listOutcomes(v engine.Verdict) []string {
	var parts []string
	switch {
	case v.Declined:
		parts = append(parts, "not approved")
	case v.Stopped:
		parts = append(parts, "stopped by the operator")
	}
	for _, f := range v.Failures {
		if f.Kind != engine.StoppedFailure && (f.Host == "" || f.Kind == engine.JournalFailure) {
			parts = append(parts, describeOutcome(f))
		}
	}
	if len(v.Refusals) > 0 {
		parts = append(parts, "not safe to go on")
	}
	switch n := len(v.UnhealthyClusters); n {
	case 0:
	case 1:
		parts = append(parts, "etcd cluster "+v.UnhealthyClusters[0].Cluster+" is not healthy")
	default:
		parts = append(parts, fmt.Sprintf("%d etcd clusters are not healthy", n))
	}
	if len(v.Unfinished) > 0 {
		parts = append(parts, "refused: an earlier roll-out is unfinished")
	}
	return parts
}

func describeOutcome(f engine.Failure) string {
	switch {
	case f.Kind == engine.JournalFailure:
		return "the journal cannot be written"
	case f.Kind == engine.RefusedFailure:
		return "refused"
	case f.Kind == engine.HeldFailure:
		return "refused: hosts are held"
	case f.Step == "":
		return "failed"
	}
	return f.Step + " failed"
}

// countHosts counts the failed, excluded and drifted hosts, each host once.
func countHosts(end event.RunEnd) []string {
	var groups textutil.Groups[string, string]
	counted := map[string]bool{}
	add := func(words, host string) {
		if !counted[host] {
			counted[host] = true
			groups.Add(words, host)
		}
	}
	for _, host := range end.Failed {
		add("failed", host)
	}
	for _, x := range end.Verdict.Excluded {
		add(exclusionWords(x.Kind), x.Host)
	}
	for _, host := range end.Verdict.Drift {
		add("drifted", host)
	}
	var counts []string
	for words, hosts := range groups.All() {
		counts = append(counts, countOf(len(hosts), words, len(counts) == 0))
	}
	return counts
}

func exclusionWords(kind engine.ExclusionKind) string {
	switch kind {
	case engine.Closed:
		return "waiting for a maintenance window"
	case engine.RolledBack:
		return "rolled back"
	case engine.Unclear:
		return "not understood"
	case engine.Lost:
		return "not back since an earlier run"
	case engine.OldProcess:
		return "waiting for a restart"
	default:
		return string(kind)
	}
}

// countChanged counts the updated hosts, and the hosts with work that are not counted elsewhere.
func countChanged(end event.RunEnd) []string {
	var counts []string
	if n := len(end.Updated); n > 0 {
		counts = append(counts, countOf(n, "updated", true))
	}
	left := slices.DeleteFunc(slices.Clone(end.Untouched), func(host string) bool {
		return slices.ContainsFunc(end.Verdict.Excluded, func(x engine.Exclusion) bool { return x.Host == host })
	})
	if n := len(left); n > 0 {
		counts = append(counts, countOf(n, "not updated", len(counts) == 0))
	}
	if len(counts) == 0 {
		return nil
	}
	return []string{strings.Join(counts, ", ")}
}

func countOf(n int, words string, noun bool) string {
	switch {
	case !noun:
		return fmt.Sprintf("%d %s", n, words)
	case n == 1:
		return "1 host " + words
	}
	return fmt.Sprintf("%d hosts %s", n, words)
}

// maintenanceText returns the outcome of the work of a person on holds, such as "hold: 1 host held".
func maintenanceText(end event.RunEnd) string {
	done := map[engine.MaintenanceAction]string{engine.HoldHosts: "held", engine.ExtendHolds: "held for longer", engine.ReleaseHosts: "released", engine.PowerHostsOn: "switched on", engine.PowerHostsOff: "switched off", engine.ResetHosts: "reset"}
	var parts []string
	add := func(n int, word string) {
		switch {
		case n == 1:
			parts = append(parts, "1 host "+word)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d hosts %s", n, word))
		}
	}
	kinds := map[engine.FailureKind]int{}
	for _, f := range end.Verdict.Failures {
		kinds[f.Kind]++
		if f.Kind == engine.JournalFailure {
			parts = append(parts, describeOutcome(f))
		}
	}
	add(len(end.Updated), done[end.Maintenance])
	refused := kinds[engine.HeldFailure] + kinds[engine.RefusedFailure]
	add(refused, "refused")
	add(kinds[engine.UnreachableFailure], "unreachable")
	add(kinds[engine.StoppedFailure], "not finished before the command was stopped")
	add(len(end.Verdict.Failures)-refused-kinds[engine.UnreachableFailure]-kinds[engine.StoppedFailure]-kinds[engine.JournalFailure], "failed")
	if len(parts) == 0 {
		parts = []string{"nothing was to do"}
	}
	return string(end.Maintenance) + ": " + strings.Join(parts, ", ")
}
