package report_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/journal"
	"holdfast/engine/report/planview"
	"holdfast/engine/report/tables"
	"holdfast/engine/report/termtext"
)

// ownFile returns a change of a file with contents of its own on each host.
func ownFile(i int) engine.Change {
	return engine.Change{
		Module: "config", Kind: "file", Resource: "file /etc/node.conf", Verb: "update", Rule: "no rule",
		Before: fmt.Sprintf("sha256:%012d 0644", i), After: fmt.Sprintf("sha256:%012d 0644", i+1000), Actions: []engine.Action{{Type: engine.RebootAction}},
	}
}

// TestHostsWithOwnContentsAreFolded: hosts that differ only in values of a template are folded, and the plan
// marks these values.
func TestHostsWithOwnContentsAreFolded(t *testing.T) {
	p := engine.Plan{Schema: 1, Site: "berlin", Total: 100}
	for i := range 48 {
		p.Hosts = append(p.Hosts, engine.HostPlan{Host: fmt.Sprintf("worker-%02d", i), Pool: "worker", Changes: []engine.Change{ownFile(i)}, Actions: []engine.Action{{Type: engine.RebootAction}}})
		p.Drift = append(p.Drift, engine.HostDrift{Host: fmt.Sprintf("edge-%02d", i), Changes: []engine.Change{ownFile(i)}})
	}
	for verbose, most := range map[bool]int{false: 20, true: 1000} {
		var b bytes.Buffer
		if err := planview.Write(&b, p, termtext.Style{}, verbose); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(b.String(), "\n"); n > most {
			t.Errorf("%d lines:\n%s", n, b.String())
		}
		for _, want := range []string{"worker-[00-47] (48 hosts)", "(differs from host to host)"} {
			if strings.Contains(b.String(), want) == verbose {
				t.Errorf("verbose %t, %q:\n%.2000s", verbose, want, b.String())
			}
		}
	}
}

// TestTablesAreNotWide: a long last column goes below its row, so that a table fits on a screen.
func TestTablesAreNotWide(t *testing.T) {
	long := strings.Repeat("no answer from 10.0.0.11:2379 within 2 s, ", 12)
	for name, write := range map[string]func(*bytes.Buffer) error{
		"etcd": func(b *bytes.Buffer) error {
			return tables.WriteEtcd(b, []engine.ClusterFacts{{Name: "main", Members: []engine.Member{{Name: "etcd-1", Host: "etcd-1", Problem: long}}}}, termtext.Style{})
		},
		"runs": func(b *bytes.Buffer) error {
			return tables.WriteRuns(b, []journal.Run{{ID: "20261120-220000-aa11", Site: "berlin", Holder: "ann@bastion", End: &engine.RunEnd{Reason: long}}})
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
			table := !strings.HasPrefix(line, "member ") // a note
			if table && len(line) > 141 {
				t.Errorf("%s: a line of %d: %s", name, len(line), line)
			}
		}
		if strings.Count(b.String(), "10.0.0.11:2379") != 12 {
			t.Errorf("%s: something is missing:\n%s", name, b.String())
		}
	}
}
