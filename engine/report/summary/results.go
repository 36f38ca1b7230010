package summary

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/termtext"
	"holdfast/engine/textutil"
)

// HostResult is the result of a run for one host that it touched.
type HostResult struct {
	event.HostTotals

	Outcome       string          // the outcome in words, such as "failed at finalize"
	Work          string          // the changes in a few words
	StagedIn      engine.Duration // duration of its stagings
	HeldFor       engine.Duration // time from hold to release, or until the run noticed that it lost the hold
	StillHeld     bool            // its hold has not ended
	Updated       bool
	NonDisruptive bool // its steps have begun, and needed no hold

	FailedAction *engine.Failure // failed action that a reboot replaced; nil: none
}

// Results returns the results of all hosts that the run touched, by name. The
// figures come from the end of the run.
func (s *Summary) Results() []HostResult {
	figures := map[string]event.HostTotals{}
	for _, h := range s.end.Hosts {
		figures[h.Host] = h
	}
	owed := map[string]bool{}
	for _, name := range unfinishedHosts(s.end) {
		owed[name] = true
	}
	var results []HostResult
	for _, name := range slices.Sorted(maps.Keys(s.hosts)) {
		h := s.hosts[name]
		if !h.isTouched() {
			continue
		}
		updated := h.updated && !owed[name]
		r := HostResult{
			HostTotals: figures[name], Outcome: h.outcomeText(updated), Work: h.workText(), StagedIn: h.staged, HeldFor: h.heldFor,
			StillHeld: !h.held.IsZero(), Updated: updated, NonDisruptive: h.begun && h.neverHeld, FailedAction: h.failedAction,
		}
		r.Host = name // a host without figures is not in the end of the run
		results = append(results, r)
	}
	return results
}

// unfinishedHosts returns the hosts that failed, that were left out, or to which the run owes work.
func unfinishedHosts(end event.RunEnd) []string {
	open := slices.Concat(end.Failed, end.Untouched)
	for _, x := range end.Verdict.Excluded {
		if !slices.Contains(end.Updated, x.Host) {
			open = append(open, x.Host)
		}
	}
	slices.Sort(open)
	return slices.Compact(open)
}

func (h *hostSummary) workText() string {
	switch {
	case h.due == nil:
		return h.did
	case h.did == "":
		return h.due.did
	}
	return h.did + "; not begun: " + h.due.did
}

func (h *hostSummary) outcomeText(updated bool) string {
	switch {
	case updated && h.failedAction != nil:
		return "updated, by a reboot"
	case updated:
		return "updated"
	case h.failure != nil && h.failure.Kind == engine.StoppedFailure:
		return "stopped at " + h.failure.Step
	case h.failure != nil && h.failure.Kind == engine.HeldFailure:
		return "left alone at " + h.failure.Step
	case h.failure != nil && h.fate == event.RolledBackEarlierOutcome:
		return "rolled back by an earlier run"
	case h.failure != nil && h.rolledBack():
		return "rolled back after " + h.failure.Step
	case h.failure != nil:
		return "failed at " + h.failure.Step
	case h.staged > 0 && !h.updated:
		return "staged"
	}
	return "not finished"
}

// MaxHostRows is the number of hosts that have a row each. More hosts are
// folded.
const MaxHostRows = 12

// Format formats the summary of a run that has ended, for people. It returns "" if the run touched no host.
func (s *Summary) Format() string {
	hosts := s.Results()
	if len(hosts) == 0 {
		return ""
	}
	var b strings.Builder
	if len(hosts) <= MaxHostRows {
		writeHostRows(termtext.Sized(&b, s.Style.Columns), hosts)
	} else {
		writeFoldedRows(termtext.Sized(&b, s.Style.Columns), hosts)
		writeExtremes(&b, hosts)
	}
	writeFallbacks(&b, hosts)
	s.writeEtcdLines(&b)
	writeLatencies(&b, s.Style.Columns, s.end.Latency)
	writeTotals(&b, s.Totals(hosts))
	return b.String()
}

func writeHostRows(b io.Writer, hosts []HostResult) {
	rows := [][]string{{"  HOST", "FETCHED", "STAGED IN", "DOWN FOR", "HELD FOR", "OUTCOME", "CHANGES"}}
	for _, h := range hosts {
		away, held := durationOrDash(h.DownFor), durationOrDash(h.HeldFor)
		if h.NotBack {
			away = "not back"
		}
		if h.StillHeld {
			held = "still held"
		}
		fetched := "-"
		if h.FetchedBytes > 0 {
			fetched = termtext.FormatBytes(h.FetchedBytes)
		}
		rows = append(rows, []string{"  " + h.Host, fetched, durationOrDash(h.StagedIn), away, held, h.Outcome, h.Work})
	}
	_ = termtext.WriteLongTable(b, dropEmptyColumns(rows)) // writing to a strings.Builder never fails
}

func dropEmptyColumns(rows [][]string) [][]string {
	var out [][]string
	for range rows {
		out = append(out, nil)
	}
	for col := range rows[0] {
		if !slices.ContainsFunc(rows[1:], func(r []string) bool { return r[col] != "-" }) {
			continue
		}
		for i, r := range rows {
			out[i] = append(out[i], r[col])
		}
	}
	return out
}

func writeFoldedRows(b io.Writer, hosts []HostResult) {
	type key struct{ result, held, did string }
	var groups textutil.Groups[key, string]
	for _, h := range hosts {
		k := key{result: h.Outcome, did: h.Work}
		if h.StillHeld {
			k.held = ", still held"
		}
		groups.Add(k, h.Host)
	}
	order := groups.Keys()
	slices.SortStableFunc(order, func(x, y key) int { return cmp.Compare(len(groups.Of(x)), len(groups.Of(y))) })
	rows := [][]string{{"  HOSTS", "OUTCOME", "CHANGES"}}
	for _, k := range order {
		rows = append(rows, []string{"  " + termtext.FoldHosts(groups.Of(k)), k.result + k.held, k.did})
	}
	_ = termtext.WriteLongTable(b, rows) // writing to a strings.Builder never fails
}

func writeExtremes(b *strings.Builder, hosts []HostResult) {
	for _, column := range []struct {
		name string
		of   func(HostResult) engine.Duration
	}{
		{"staged in", func(h HostResult) engine.Duration { return h.StagedIn }},
		{"down for", func(h HostResult) engine.Duration { return h.DownFor }},
		{"held for", func(h HostResult) engine.Duration { return h.HeldFor }},
	} {
		with := slices.DeleteFunc(slices.Clone(hosts), func(h HostResult) bool { return column.of(h) <= 0 })
		if len(with) == 0 {
			continue
		}
		slices.SortStableFunc(with, func(x, y HostResult) int { return cmp.Compare(column.of(x), column.of(y)) })
		slowest := with[len(with)-1]
		fmt.Fprintf(b, "  %s: %s, median %s, longest %s (%s)\n", column.name, termtext.FormatCount(len(with), "host", "hosts"),
			termtext.FormatDuration(column.of(with[(len(with)-1)/2])), termtext.FormatDuration(column.of(slowest)), slowest.Host)
	}
}

func writeFallbacks(b *strings.Builder, hosts []HostResult) {
	var groups textutil.Groups[string, string]
	for _, h := range hosts {
		if f := h.FailedAction; f != nil {
			groups.Add(f.Step+": "+shortCause(*f), h.Host)
		}
	}
	for cause, names := range groups.All() {
		fmt.Fprintf(b, "  an action failed, so a reboot was due: %s: %s\n", termtext.FoldHosts(names), cause)
	}
}

// Totals has the sums over all hosts that a run touched.
type Totals struct {
	Touched       int
	Updated       int
	NonDisruptive int // updated hosts that were not disrupted
	Held          int // hosts that are still held
	Fetching      int // hosts that fetched something from the bastion
	Fetched       int64
	FetchedAgain  int64           // of these, bytes that were sent before and lost with a connection
	Took          engine.Duration // time from the first event to the last
}

// Totals returns the sums over the results of all hosts.
func (s *Summary) Totals(results []HostResult) Totals {
	t := Totals{Touched: len(results), Took: durationBetween(s.began, s.now)}
	for _, h := range results {
		if h.FetchedBytes > 0 {
			t.Fetching++
			t.Fetched += h.FetchedBytes
			t.FetchedAgain += h.FetchedAgainBytes
		}
		if h.Updated {
			t.Updated++
			if h.NonDisruptive {
				t.NonDisruptive++
			}
		}
		if h.StillHeld {
			t.Held++
		}
	}
	return t
}

func writeTotals(b *strings.Builder, t Totals) {
	if t.Fetching > 0 {
		fmt.Fprintf(b, "  from the bastion: %s to %s%s\n", termtext.FormatBytes(t.Fetched), termtext.FormatCount(t.Fetching, "host", "hosts"), termtext.FormatAgain(t.FetchedAgain))
	}
	b.WriteString("  in all: " + t.String() + "\n")
}

// String returns the totals in a line: "2 hosts touched, 1 updated, 1 still held, in 11m0s".
func (t Totals) String() string {
	text := fmt.Sprintf("%s touched, %d updated", termtext.FormatCount(t.Touched, "host", "hosts"), t.Updated)
	if t.NonDisruptive > 0 {
		text += fmt.Sprintf(" (%d without disruption)", t.NonDisruptive)
	}
	if t.Held > 0 {
		text += fmt.Sprintf(", %d still held", t.Held)
	}
	return text + ", in " + termtext.FormatDuration(t.Took)
}

func durationOrDash(d engine.Duration) string {
	if d <= 0 {
		return "-"
	}
	return termtext.FormatDuration(d)
}

// Latencies returns the disk latencies of the etcd members that were sampled.
func (s *Summary) Latencies() []event.MemberLatency { return s.end.Latency }

// CommandLine returns the command of the run as a person types it, without
// secret values, or "" if the journal does not have it.
func (s *Summary) CommandLine() string {
	if s.command.Name == "" {
		return ""
	}
	return commandLine(s.command)
}
