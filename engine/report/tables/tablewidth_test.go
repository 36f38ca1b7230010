package tables_test

import (
	"bytes"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/event"
	"holdfast/engine/journal"
	"holdfast/engine/report/tables"
	"holdfast/engine/report/termtext"
)

// TestTablesAreNotWide checks that a long last column goes below its row, so
// that a table fits on a screen.
func TestTablesAreNotWide(t *testing.T) {
	long := strings.Repeat("no answer from 10.0.0.11:2379 within 2 s, ", 12)
	for name, write := range map[string]func(*bytes.Buffer) error{
		"etcd": func(b *bytes.Buffer) error {
			return tables.WriteEtcd(b, []etcdfacts.ClusterFacts{{Name: "main", Members: []etcdfacts.Member{{Name: "etcd-1", Host: "etcd-1", Problem: long}}}}, termtext.Style{})
		},
		"runs": func(b *bytes.Buffer) error {
			return tables.WriteRuns(b, []journal.Run{{ID: "20261120-220000-aa11", Site: "berlin", Holder: "ann@bastion", End: &event.RunEnd{Verdict: engine.NewVerdict(engine.Findings{Failures: []engine.Failure{{Step: long}}})}}})
		},
		"holds": func(b *bytes.Buffer) error {
			return tables.WriteHolds(b, []tables.HeldHost{{Host: "w", Hold: &engine.Hold{Kind: engine.RunHold, Reason: long}}}, 0)
		},
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			table := !strings.HasPrefix(line, "member ") // a line of a note has no row
			if table && len(line) > 141 {
				t.Errorf("%s: a line of %d: %s", name, len(line), line)
			}
		}
		if strings.Count(b.String(), "10.0.0.11:2379") != 12 {
			t.Errorf("%s: something is missing:\n%s", name, b.String())
		}
	}
}
