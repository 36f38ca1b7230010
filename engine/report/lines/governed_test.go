package lines_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/lines"
)

// TestGovernedLine checks that lines report when a staging is slowed, and why.
func TestGovernedLine(t *testing.T) {
	g := engine.Governor{State: engine.GovernorSlowed, MemberHost: "etcd-2", Metric: engine.WALFsync, P99: engine.Duration(58 * time.Millisecond), Limit: engine.Duration(12 * time.Millisecond)}
	var b strings.Builder
	w := lines.Writer{W: &b, Short: true}
	if err := w.Emit(event.Event{Type: event.StagingGoverned, Host: "etcd-1", Cluster: "main", Step: "stage", Governor: &g}); err != nil {
		t.Fatal(err)
	}
	if want := "  etcd-1: staging slowed: p99 of WAL fsync on etcd-2 is 58 ms, the limit 12 ms\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
