package report_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/report/lines"
	"holdfast/engine/report/planview"
	"holdfast/engine/report/termtext"
)

// TestWritePlanSteps: a verbose plan shows the question and the demands of each gate, and the duration of
// each pause.
func TestWritePlanSteps(t *testing.T) {
	none, two := 0, 2
	pool := engine.Gate{Name: "pool", Command: "ready"}
	p := examplePlan()
	p.Batches = p.Batches[:1]
	p.Batches[0].Before = []engine.Step{{Name: "gate pool", On: engine.Bastion, Do: engine.Op{Gate: &pool}}}
	p.Batches[0].After = p.Batches[0].Before
	for do, want := range map[*engine.Op]string{
		{Pause: &engine.Pause{For: engine.Duration(time.Minute)}}:                                                              "waits for 1m",
		{Defragment: &engine.Defragment{Cluster: "main"}}:                                                                      "the member of main does not answer meanwhile",
		{Gate: &engine.Gate{Command: "ready", Retries: &none}}:                                                                 "ready, 0 bad answers allowed",
		{Gate: &engine.Gate{HostCommand: "test -w /data", Successes: 3}}:                                                       "test -w /data on the host, good 3 times in a row",
		{Gate: &engine.Gate{HTTP: &engine.HTTPGate{URL: "http://{address}/", Status: 204, Match: `\bok`}}}:                     `http://{address}/, status 204, match "\\bok"`,
		{Gate: &engine.Gate{PromQL: &engine.PromQLGate{URL: "http://prom", Query: "errors < 1"}, Retries: &two, Successes: 1}}: "errors < 1 at http://prom, 2 bad answers allowed",
	} {
		p.Hosts[0].Sequence = []engine.Step{{Name: "one", Do: *do, Timeout: engine.Duration(time.Minute)}}
		var b bytes.Buffer
		if err := planview.Write(&b, p, termtext.Style{}, true); err != nil || !strings.Contains(b.String(), " at most 1m0s: "+want+"\n") {
			t.Errorf("%v, without %q:\n%s", err, want, b.String())
		}
		for _, when := range []string{"before", "after"} {
			if n := strings.Count(b.String(), when+" it: gate pool"); n != 1 {
				t.Errorf("the gate is %d times %s the batch:\n%s", n, when, b.String())
			}
		}
	}
}

// TestPlainGates: the line of a gate has its last answer, and the host for gates of hosts.
func TestPlainGates(t *testing.T) {
	var b bytes.Buffer
	for _, e := range []engine.Event{
		{Type: engine.StepProgress, Step: "gate ceph", Message: "exit status 1: HEALTH_WARN"},
		{Type: engine.StepProgress, Step: "gate disk", Host: "worker-1", Message: "exit status 1"},
		{Type: engine.StepProgress, Step: "wait for units", Host: "worker-1", Message: "crio.service has failed", Took: engine.Duration(90 * time.Second)},
	} {
		if err := (&lines.Writer{W: &b, Short: true}).Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	if want := "  gate ceph: exit status 1: HEALTH_WARN\n  worker-1: gate disk: exit status 1\n" +
		"  worker-1: wait for units goes on, 1m30s by now: crio.service has failed\n"; b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
