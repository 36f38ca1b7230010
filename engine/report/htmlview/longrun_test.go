package htmlview_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/htmlview"
	"holdfast/engine/report/reporttest"
)

// barsOf returns the number of bars of a class after a text of a page, and the end of the last one in percents of the drawing.
func barsOf(page, after, class string) (n int, last string) {
	_, drawing, _ := strings.Cut(page, after)
	drawing, _, _ = strings.Cut(drawing, "</svg>")
	bars := regexp.MustCompile(`<rect class="`+class+`" x="([0-9.]+)%" width="([0-9.]+)%"`).FindAllStringSubmatch(drawing, -1)
	for _, b := range bars {
		var x, width float64
		_, _ = fmt.Sscan(b[1], &x)
		_, _ = fmt.Sscan(b[2], &width)
		last = fmt.Sprintf("%.0f", x+width)
	}
	return len(bars), last
}

// TestManyBarsReachTheEnd checks that a drawing with room for 100 bars joins near ones, and leaves out none at the end of the run.
func TestManyBarsReachTheEnd(t *testing.T) {
	var s reporttest.Script
	s.StartRun("--yes")
	lane := engine.Lane{Cluster: "main"}
	for i := range 150 {
		lane.Hosts = append(lane.Hosts, fmt.Sprintf("node-%03d", i))
	}
	s.AddEvent(event.Event{Type: event.Planned, Plan: &engine.Plan{Lanes: []engine.Lane{lane}}})
	for _, host := range lane.Hosts {
		s.RunStep(host, "stage", s.At, time.Minute)
		s.RunStep("worker-1", "hold", s.At, time.Second)
		s.AddEvent(event.Event{Type: event.EtcdSampled, Cluster: "main", Etcd: &event.Sample{Voters: 1, Healthy: 1, Latency: []engine.LatencyPoint{{Host: "etcd-0", WALFsyncP99Seconds: 0.004}}}})
		soak := event.Event{Type: event.StepStarted, Pool: "worker", Step: "soak", Until: s.At.Add(time.Minute)}
		s.AddEvent(soak)
		s.At = s.At.Add(time.Minute)
		soak.Type = event.StepEnded
		s.AddEvent(soak)
		s.RunStep("worker-1", "release", s.At, time.Second)
	}
	page := writePage(t, s.Events, htmlview.Journal{})
	for _, c := range []struct{ drawing, after, class string }{
		{"soaks of the run", `<th scope="row">whole run</th>`, "w"},
		{"holds of a host", `<th scope="row">worker-1</th>`, "h"},
		{"stagings near a cluster", `etcd-0: p99 of WAL fsync`, "s"},
	} {
		if n, last := barsOf(page, c.after, c.class); n != 100 || last != "100" && last != "99" {
			t.Errorf("%s: %d bars, the last one until %s %%", c.drawing, n, last)
		}
	}
}

// TestManyChangesOfVoters checks that a page without room for all changes of voters tells so, and does not take the last one that it
// has for the state at the end.
func TestManyChangesOfVoters(t *testing.T) {
	var s reporttest.Script
	s.StartRun("--yes")
	for i := range 2005 {
		s.At = s.At.Add(10 * time.Second)
		sample := event.Sample{Voters: 3, Healthy: 3 - i%2, Quorum: 2}
		s.AddEvent(event.Event{Type: event.EtcdSampled, Cluster: "main", Etcd: &sample})
		s.AddEvent(event.Event{Type: event.EtcdSampled, Cluster: "main", Etcd: &sample}) // no change
	}
	s.At = s.At.Add(time.Hour)
	s.EndRun(engine.Findings{}, event.RunEnd{})
	page := writePage(t, s.Events, htmlview.Journal{})
	wantTexts(t, page, "These are the first 2000 changes, until 13:33:30. 5 more are in the journal.")
	if strings.Contains(page, "not back at the last event") || !strings.Contains(page, "<td>13:33:20</td><td>13:33:30</td>") {
		t.Error("the last outage has another end than the first change that is not kept")
	}
	if strings.Contains(page, "H1000\"/><path class=\"limit\"") {
		t.Error("the line of voters goes on to the end of the run")
	}
}

// TestManyMembers checks that a page names the number of members without charts.
func TestManyMembers(t *testing.T) {
	var s reporttest.Script
	s.StartRun("--yes")
	var points []engine.LatencyPoint
	for i := range 11 {
		points = append(points, engine.LatencyPoint{Host: fmt.Sprintf("etcd-%02d", i), WALFsyncP99Seconds: 0.004})
	}
	s.AddEvent(event.Event{Type: event.EtcdSampled, Cluster: "main", Etcd: &event.Sample{Voters: 11, Healthy: 11, Quorum: 6, Latency: points}})
	s.EndRun(engine.Findings{}, event.RunEnd{})
	wantTexts(t, writePage(t, s.Events, htmlview.Journal{}), "The charts of 2 more members are left out.")
}
