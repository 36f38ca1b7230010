package live_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/lines"
	"holdfast/engine/report/live"
	"holdfast/engine/report/reporttest"
	"holdfast/engine/report/termtext"
)

func stagingRun() []event.Event {
	p := reporttest.LargePlan()
	p.Hosts = p.Hosts[:9]
	return []event.Event{
		{Type: event.Planned, Plan: &p},
		{Type: event.StepStarted, Host: "events-0", Step: "stage", Kind: engine.StageStep, Time: reporttest.Began},
		{Type: event.StepProgress, Host: "events-0", Step: "stage", Kind: engine.StageStep, Message: "Receiving objects: 45% (460/1023) 1.2 MB/s 61 MB"},
		{Type: event.StepStarted, Host: "main-0", Step: "stage", Kind: engine.StageStep, Time: reporttest.Began},
		{Type: event.StepEnded, Host: "main-0", Step: "stage", Kind: engine.StageStep},
		{Type: event.StepStarted, Host: "main-1", Step: "stage", Kind: engine.StageStep, Time: reporttest.Began.Add(time.Minute)},
		{Type: event.EtcdSampled, Cluster: "main", Time: reporttest.Began.Add(250 * time.Second), Etcd: &event.Sample{Voters: 3, Healthy: 3, Leader: "main-2"}},
		{Type: event.EtcdSampled, Cluster: "events", Etcd: &event.Sample{Problems: []string{"no sample within 30s"}}},
	}
}

// rollingRun returns a run with 14 unavailable hosts, some failed hosts, and an etcd member that is down.
func rollingRun() []event.Event {
	p := engine.Plan{}
	for _, h := range []string{"etcd-0", "etcd-1", "etcd-2"} {
		p.Hosts = append(p.Hosts, reporttest.OSPlan(h, "etcd", "main", ""))
	}
	for i := range 40 {
		p.Hosts = append(p.Hosts, reporttest.OSPlan(fmt.Sprintf("worker-%02d", i), "worker", "", ""))
	}
	events := []event.Event{{Type: event.Planned, Plan: &p}}
	for _, hp := range p.Hosts {
		events = append(events, event.Event{Type: event.StepStarted, Host: hp.Host, Step: "stage", Kind: engine.StageStep, Time: reporttest.Began}, event.Event{Type: event.StepEnded, Host: hp.Host, Step: "stage", Kind: engine.StageStep})
	}
	for i := range 20 {
		events = append(events, event.Event{Type: event.HostDone, Host: fmt.Sprintf("worker-%02d", i)})
	}
	for i, kind := range []engine.FailureKind{"", engine.HeldFailure, engine.StoppedFailure} {
		events = append(events, event.Event{Type: event.HostFailed, Host: fmt.Sprintf("worker-%02d", 20+i), Failure: &engine.Failure{Kind: kind}})
	}
	events = append(events, event.Event{Type: event.EtcdSampled, Cluster: "main", Time: reporttest.Began.Add(250 * time.Second), Etcd: &event.Sample{Voters: 3, Healthy: 3, Leader: "etcd-0"}},
		event.Event{Type: event.StepStarted, Host: "etcd-1", Cluster: "main", Step: "finalize", Kind: engine.RebootStep, Time: reporttest.Began.Add(time.Minute)},
		event.Event{Type: event.StepEnded, Host: "etcd-1", Cluster: "main", Step: "finalize", Kind: engine.RebootStep, Time: reporttest.Began.Add(time.Minute)},
		event.Event{Type: event.StepStarted, Host: "etcd-1", Cluster: "main", Step: "wait for boot", Kind: engine.BootStep, Time: reporttest.Began.Add(time.Minute)})
	for i := 23; i < 36; i++ {
		step := "wait for boot"
		if i%4 == 0 {
			step = "wait for units"
		}
		events = append(events, event.Event{Type: event.StepStarted, Host: fmt.Sprintf("worker-%02d", i), Step: step, Time: reporttest.Began.Add(time.Duration(i) * time.Second)})
	}
	return events
}

func manyPoolsRun() []event.Event {
	p := engine.Plan{}
	for i := range 9 {
		p.Hosts = append(p.Hosts, reporttest.OSPlan(fmt.Sprintf("h-%d", i), fmt.Sprintf("pool-%d", i), "", ""))
	}
	return []event.Event{{Type: event.Planned, Plan: &p}, {Type: event.HostDone, Host: "h-3"}, {Type: event.StepStarted, Step: "gate ceph", Time: reporttest.Began}}
}

// writingRun returns a run that writes to many hosts and disrupts one of them.
func writingRun() []event.Event {
	events := reporttest.NonDisruptiveRun()[:3]
	for i := range events[1].Plan.Hosts {
		hp := &events[1].Plan.Hosts[i]
		hp.Changes = hp.Changes[:min(len(hp.Changes), 3)] // the live status shows no changes, so three are enough
	}
	for _, hp := range events[1].Plan.Hosts[:6] {
		events = append(events, event.Event{Type: event.StepStarted, Host: hp.Host, Step: "write", Time: reporttest.Began})
	}
	return append(events, event.Event{Type: event.StepStarted, Host: "worker-300", Step: "hold", Kind: engine.HoldStep, Time: reporttest.Began}, event.Event{Type: event.StepStarted, Host: "worker-300", Step: "write", Time: reporttest.Began})
}

// soakingRun returns a run that waits for the soak of its canaries while it stages hosts of another pool.
func soakingRun() []event.Event {
	p := reporttest.RollingPlan()
	return []event.Event{
		{Type: event.Planned, Plan: &p},
		{Type: event.HostDone, Host: "worker-01"},
		{Type: event.StepStarted, Host: "edge-0", Step: "stage", Kind: engine.StageStep, Time: reporttest.Began},
		{Type: event.StepEnded, Host: "edge-0", Step: "stage", Kind: engine.StageStep},
		{Type: event.StepStarted, Pool: "worker", Step: "soak", Time: reporttest.Began.Add(200 * time.Second), Until: reporttest.Began.Add(800 * time.Second)},
	}
}

// renderStatus renders the live status after these events, for a terminal of
// that size.
func renderStatus(events []event.Event, width, height int, now time.Time) string {
	status := live.NewStatus(termtext.Style{})
	for _, e := range events {
		status.AddEvent(termtext.SafeEvent(e))
	}
	return status.Render(live.Size{Width: width, Height: height}, now)
}

// TestWaiting checks that the line of a waiting step has its end and the
// remaining time. The end has its date if it is more than a day away.
func TestWaiting(t *testing.T) {
	start := reporttest.Began.Add(200 * time.Second)
	for _, c := range []struct {
		until      time.Time
		line, left string
	}{
		{start.Add(10 * time.Minute), "until 08:13:20 UTC", "8m20s left"},
		{start.Add(10 * time.Minute).In(time.FixedZone("CET", 3600)), "until 08:13:20 UTC", "8m20s left"},
		{reporttest.Began.Add(23 * time.Hour), "until 07:00:00 UTC", "22h55m0s left"},
		{start.Add(24*time.Hour + 10*time.Minute), "until Sun 2026-11-22 08:13:20 UTC", "24h8m20s left"},
		{start.Add(50 * time.Hour), "until Mon 2026-11-23 10:03:20 UTC", "49h58m20s left"},
		{start.Add(time.Minute), "until 08:04:20 UTC", "0 s left"},
		{time.Time{}, "", ""},
	} {
		e := event.Event{Type: event.StepStarted, Pool: "worker", Step: "soak", Time: start, Until: c.until}
		text := renderStatus([]event.Event{e}, 80, 24, reporttest.Began.Add(5*time.Minute))
		if !strings.HasPrefix(text, "  pool worker  soak 100 s") || !strings.HasSuffix(text, c.left) || (c.left == "") == strings.Contains(text, "left") {
			t.Errorf("%s: %q, want %q", c.until, text, c.left)
		}
		var line bytes.Buffer
		if err := (&lines.Writer{W: &line, Short: true, Terse: true}).Emit(e); err != nil {
			t.Fatal(err)
		}
		if wanted := "  worker: soak " + c.line + "\n"; c.line != "" && line.String() != wanted || c.line == "" && line.Len() > 0 {
			t.Errorf("%s: line %q", c.until, line.String())
		}
	}
}

// TestForecastFollowsTheRun checks that the live status tells when the run will end, and that a batch that begins late moves the end.
func TestForecastFollowsTheRun(t *testing.T) {
	began := reporttest.Began
	at := func(minutes int) time.Time { return began.Add(time.Duration(minutes) * time.Minute) }
	p := engine.Plan{Hosts: []engine.HostPlan{reporttest.OSPlan("w-0", "w", "", "")}, Forecast: &engine.Forecast{
		Known: true, Ends: at(30), Batches: []engine.BatchForecast{{Begins: at(10), Ends: at(20)}, {Begins: at(20), Ends: at(30)}},
	}}
	events := []event.Event{
		{Type: event.Planned, Plan: &p, Time: began},
		{Type: event.StageStarted, Time: at(3)},
		{Type: event.BatchStarted, Batch: 1, Time: at(15)},
		{Type: event.BatchStarted, Batch: 2, Time: at(19)},
		{Type: event.BatchStarted, Batch: 7, Time: at(40)}, // not in the forecast
	}
	for n, want := range []string{"until 08:30 UTC, 27m0s left", "until 08:33 UTC, 30m0s left", "until 08:35 UTC, 32m0s left", "until 08:29 UTC, 26m0s left", "until 08:29 UTC, 26m0s left"} {
		if text := renderStatus(events[:n+1], 80, 24, at(3)); !strings.Contains(text, "forecast: "+want) {
			t.Errorf("after %d events, no %q in\n%s", n+1, want, text)
		}
	}
	if text := renderStatus(events, 80, 24, at(60)); !strings.Contains(text, "forecast: later than in earlier runs") {
		t.Error(text)
	}
	if text := renderStatus(events, 80, 9, at(3)); strings.Contains(text, "forecast") {
		t.Errorf("a low terminal has no room for\n%s", text)
	}
	p.Forecast.Known = false
	if text := renderStatus(events, 80, 24, at(3)); strings.Contains(text, "forecast") {
		t.Errorf("nothing is known, but\n%s", text)
	}
	late := engine.Plan{Hosts: p.Hosts, Forecast: &engine.Forecast{Known: true, Ends: at(60 * 30)}}
	if text := renderStatus([]event.Event{{Type: event.Planned, Plan: &late, Time: began}}, 80, 24, began); !strings.Contains(text, "forecast: until Sun 2026-11-22 14:00 UTC") {
		t.Error(text)
	}
}

// TestForecastOfTheSecondPlay checks that the forecast of a play moves with the batches of this play, although events count the
// batches of the whole run.
func TestForecastOfTheSecondPlay(t *testing.T) {
	at := func(minutes int) time.Time { return reporttest.Began.Add(time.Duration(minutes) * time.Minute) }
	plan := func(batches ...engine.BatchForecast) *engine.Plan {
		return &engine.Plan{Hosts: []engine.HostPlan{reporttest.OSPlan("w-0", "w", "", "")}, Forecast: &engine.Forecast{
			Known: true, Ends: batches[len(batches)-1].Ends, Batches: batches,
		}}
	}
	text := renderStatus([]event.Event{
		{Type: event.Planned, Plan: plan(engine.BatchForecast{Begins: at(0), Ends: at(10)}), Time: at(0)},
		{Type: event.BatchStarted, Batch: 1, Time: at(0)},
		{Type: event.Planned, Plan: plan(engine.BatchForecast{Begins: at(10), Ends: at(20)}, engine.BatchForecast{Begins: at(20), Ends: at(30)}), Time: at(10)},
		{Type: event.BatchStarted, Batch: 2, Time: at(15)}, // the first of its play, 5 minutes late
	}, 80, 24, at(15))
	if !strings.Contains(text, "forecast: until 08:35 UTC, 20m0s left") {
		t.Error(text)
	}
}

// TestClusterWithoutAnAnswer checks that the live status does not show old voters of a cluster whose members answer no more.
func TestClusterWithoutAnAnswer(t *testing.T) {
	at := func(seconds int) time.Time { return reporttest.Began.Add(time.Duration(seconds) * time.Second) }
	events := []event.Event{
		{Type: event.EtcdSampled, Cluster: "main", Time: at(0), Etcd: &event.Sample{Voters: 3, Healthy: 3, Leader: "etcd-0"}},
		{Type: event.EtcdSampled, Cluster: "main", Time: at(10), Etcd: &event.Sample{Problems: []string{"no sample within 30s"}}},
		{Type: event.EtcdSampled, Cluster: "main", Time: at(50), Etcd: &event.Sample{Problems: []string{"no sample within 30s"}}},
	}
	for width, want := range map[int]string{
		200: "etcd main  no answer since 08:00:10 UTC, for 3m0s; before: 3 of 3 voters healthy, quorum 2",
		60:  "etcd main  no answer since 08:00:10 UTC, for 3m0s",
		20:  "main: no answer",
	} {
		if got := renderStatus(events, width, 24, at(190)); got != want {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
	status := live.NewStatus(termtext.Style{Colour: true})
	for _, e := range events {
		status.AddEvent(e)
	}
	if got := status.Render(live.Size{Width: 80, Height: 24}, at(190)); !strings.HasPrefix(got, "\x1b[33m") {
		t.Errorf("not yellow: %q", got)
	}
	events = append(events, event.Event{Type: event.EtcdSampled, Cluster: "main", Time: at(180), Etcd: &event.Sample{Voters: 3, Healthy: 3, Leader: "etcd-0"}})
	if got := renderStatus(events, 80, 24, at(190)); got != "etcd main  3 of 3 voters healthy, quorum 2, leader etcd-0, seen 10 s ago" {
		t.Error(got)
	}
}

// TestLiveStatusOfPlays checks that the live status counts the hosts of the
// current play.
func TestLiveStatusOfPlays(t *testing.T) {
	first, second := engine.Plan{}, engine.Plan{}
	for i := range 4 {
		first.Hosts = append(first.Hosts, reporttest.OSPlan(fmt.Sprintf("etcd-%d", i), "etcd", "", ""))
	}
	second.Hosts = []engine.HostPlan{reporttest.OSPlan("etcd-0", "etcd", "", ""), reporttest.OSPlan("worker-0", "worker", "", "")}
	text := renderStatus([]event.Event{
		{Type: event.Planned, Plan: &first},
		{Type: event.HostDone, Host: "etcd-0"},
		{Type: event.HostDone, Host: "etcd-1"},
		{Type: event.StepStarted, Host: "etcd-2", Step: "an old step", Time: reporttest.Began},
		{Type: event.EtcdSampled, Cluster: "main", Etcd: &event.Sample{Voters: 3, Healthy: 2}},
		{Type: event.Planned, Plan: &second},
		{Type: event.HostDone, Host: "worker-0"},
	}, 80, 24, reporttest.Began)
	if !strings.Contains(text, "etcd   [..........]  done 0/1") || !strings.Contains(text, "worker [##########]  done 1/1") || strings.Contains(text, "old step") || strings.Contains(text, "2 of 3") {
		t.Error(text)
	}
}

// TestLiveStatus draws runs on terminals of three widths, and on a low one.
func TestLiveStatus(t *testing.T) {
	for name, events := range map[string][]event.Event{"board-staging": stagingRun(), "board-rolling": rollingRun(), "board-pools": manyPoolsRun(), "board-quiet": writingRun(), "board-soaking": soakingRun()} {
		var got strings.Builder
		for _, on := range []struct{ width, height int }{{40, 24}, {80, 24}, {200, 50}, {80, 6}} {
			fmt.Fprintf(&got, "%d columns, %d lines\n%s\n\n", on.width, on.height, renderStatus(events, on.width, on.height, reporttest.Began.Add(5*time.Minute)))
		}
		reporttest.CompareGolden(t, name, got.String())
	}
}

// TestLiveStatusFits checks that the live status leaves a line free on every
// terminal and at every moment, and that texts of hosts cannot control the
// terminal.
func TestLiveStatusFits(t *testing.T) {
	e := reporttest.HostileValue[event.Event]()
	hostiles := append(rollingRun(), event.Event{Type: event.StepStarted, Host: reporttest.Hostile, Step: reporttest.Hostile}, event.Event{Type: event.StepProgress, Host: reporttest.Hostile, Step: reporttest.Hostile, Message: reporttest.Hostile},
		event.Event{Type: event.EtcdSampled, Cluster: reporttest.Hostile, Etcd: e.Etcd}, event.Event{Type: event.EtcdSampled, Cluster: "x", Etcd: &event.Sample{Problems: []string{reporttest.Hostile}}})
	runs := [][]event.Event{stagingRun(), soakingRun(), rollingRun(), manyPoolsRun(), writingRun(), reporttest.ExampleRun(), hostiles, {{Type: event.Planned, Plan: e.Plan}}}
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SampledFrom(runs).Draw(t, "run")
		events = events[:rapid.IntRange(0, len(events)).Draw(t, "events")]
		width, height := rapid.IntRange(1, 220).Draw(t, "width"), rapid.IntRange(2, 60).Draw(t, "height")
		text := renderStatus(events, width, height, reporttest.Began)
		lines := strings.Split(text, "\n")
		if len(lines) >= height {
			t.Fatalf("%d lines on %d:\n%s", len(lines), height, text)
		}
		for _, l := range lines {
			if ansi.StringWidth(l) > width || strings.ContainsAny(l, "\x1b\r\t\a") {
				t.Fatalf("%d columns: %q", width, l)
			}
		}
	})
}
