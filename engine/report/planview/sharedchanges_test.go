package planview_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/report/planview"
	"holdfast/engine/report/termtext"
)

// ownFile returns a change of a file whose contents differ on each host.
func ownFile(i int) engine.Change {
	return engine.Change{
		Module: "config", Kind: "file", Resource: "file /etc/node.conf", Verb: "update", Rule: "no rule",
		Before: fmt.Sprintf("sha256:%012d 0644", i), After: fmt.Sprintf("sha256:%012d 0644", i+1000), Actions: []engine.Action{{Type: engine.RebootAction}},
	}
}

// TestHostsWithOwnContentsAreFolded checks that hosts are folded if they differ
// only in values of a template, and that the plan marks these values.
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
