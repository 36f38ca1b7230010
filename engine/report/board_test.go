package report

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"holdfast/engine"
)

// TestBoard draws the board in the middle of a run on terminals of three
// widths.
func TestBoard(t *testing.T) {
	began := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	b := newBoard(Style{})
	plan := engine.Plan{}
	for _, h := range []string{"etcd-0", "etcd-1", "etcd-2"} {
		plan.Hosts = append(plan.Hosts, engine.HostPlan{Host: h, Pool: "etcd", Stage: []engine.Step{{}}})
	}
	for i := range 40 {
		plan.Hosts = append(plan.Hosts, engine.HostPlan{Host: fmt.Sprintf("worker-%02d", i), Pool: "worker", Stage: []engine.Step{{}}})
	}
	b.add(engine.Event{Type: engine.Planned, Plan: &plan})
	for _, hp := range plan.Hosts {
		b.add(engine.Event{Type: engine.StepStarted, Host: hp.Host, Step: "stage", Time: began})
		b.add(engine.Event{Type: engine.StepEnded, Host: hp.Host, Step: "stage", Time: began})
	}
	for i := range 20 {
		b.add(engine.Event{Type: engine.HostDone, Host: fmt.Sprintf("worker-%02d", i)})
	}
	b.add(engine.Event{Type: engine.HostFailed, Host: "worker-20"})
	b.add(engine.Event{Type: engine.EtcdSampled, Cluster: "main", Etcd: &engine.Sample{Voters: 3, Healthy: 2, Leader: "etcd-0"}})
	b.add(engine.Event{Type: engine.StepStarted, Host: "etcd-1", Step: "wait for boot", Time: began.Add(time.Minute)})
	for i := 21; i < 33; i++ {
		b.add(engine.Event{Type: engine.StepStarted, Host: fmt.Sprintf("worker-%02d", i), Step: "finalize", Time: began.Add(time.Minute)})
	}
	var got strings.Builder
	for _, width := range []int{40, 80, 200} {
		text := b.render(width, began.Add(5*time.Minute))
		fmt.Fprintf(&got, "%d columns\n%s\n\n", width, text)
		for line := range strings.Lines(text) {
			if ansi.StringWidth(strings.TrimSuffix(line, "\n")) > width {
				t.Errorf("wider than %d: %q", width, line)
			}
		}
	}
	const path = "testdata/board.golden"
	want, err := os.ReadFile(path)
	if os.Getenv("UPDATE_BOARD") != "" {
		err = os.WriteFile(path, []byte(got.String()), 0o644)
		want = []byte(got.String())
	}
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}
