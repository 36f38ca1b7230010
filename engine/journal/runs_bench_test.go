package journal_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/journal"
)

// BenchmarkListRuns reads 50 journals of a site of 480 hosts, as every apply,
// plan and status does when it begins.
func BenchmarkListRuns(b *testing.B) {
	dir := b.TempDir()
	p := engine.Plan{Schema: 1, Site: "berlin", Total: 480}
	for i := range 480 {
		hp := examplePlan().Hosts[1]
		hp.Host, hp.Sequence = fmt.Sprintf("worker-%03d", i), slices.Clone(hp.Sequence)
		p.Hosts = append(p.Hosts, hp)
	}
	for i := range p.Hosts {
		for j := range p.Hosts[i].Sequence {
			p.Hosts[i].Sequence[j].Do.Exec = &engine.Exec{Script: engine.NewScript(strings.Repeat("if ! ostree admin status; then exit 3; fi\n", 40))}
		}
	}
	events := []event.Event{{Type: event.RunStarted, Time: began, Start: &event.RunStart{Site: "berlin"}}, {Type: event.Planned, Plan: &p}}
	for i := range 480 {
		events = append(events, event.Event{Type: event.HostDone, Host: fmt.Sprintf("worker-%03d", i)})
	}
	events = append(events, event.Event{Type: event.RunEnded, End: &event.RunEnd{}})
	whole := journalLines(b, events)
	for i := range 50 {
		saveJournal(b, dir, fmt.Sprintf("20261121-08%02d00-0001", i), whole)
	}
	b.SetBytes(int64(50 * len(whole)))
	for b.Loop() {
		if runs, err := journal.ListRuns(dir); err != nil || len(runs) != 50 || len(runs[0].Updated) != 480 || runs[0].End == nil {
			b.Fatal(err, len(runs))
		}
	}
}
