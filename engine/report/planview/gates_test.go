package planview_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/report/planview"
	"holdfast/engine/report/reporttest"
	"holdfast/engine/report/termtext"
)

// TestWritePlanSteps checks that a verbose plan shows the question and the
// demands of each gate, and the duration of each pause.
func TestWritePlanSteps(t *testing.T) {
	none, two := 0, 2
	pool := engine.Gate{Name: "pool", Command: "ready"}
	p := reporttest.ExamplePlan()
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
