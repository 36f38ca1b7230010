package htmlview_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/htmlview"
	"holdfast/engine/report/reporttest"
)

func writePage(t testing.TB, events []event.Event, j htmlview.Journal) string {
	t.Helper()
	v := htmlview.New()
	for _, e := range events {
		v.AddEvent(e)
	}
	var b bytes.Buffer
	if err := v.WritePage(&b, j); err != nil {
		t.Fatal(err)
	}
	keepPage(t, ".html", b.Bytes())
	if err := reporttest.CheckPage(b.String()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// keepPage keeps a file about a page in the folder HOLDFAST_PAGES, for the tests that
// open the pages in a browser (cmd/holdfast-lab/browser).
func keepPage(t testing.TB, suffix string, text []byte) {
	t.Helper()
	dir := os.Getenv("HOLDFAST_PAGES")
	if dir == "" {
		return
	}
	name := filepath.Join(dir, strings.ReplaceAll(t.Name(), "/", "-"))
	file := name + suffix
	for n := 2; ; n++ { // a test may make several pages
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) && n < 100 {
			file = fmt.Sprintf("%s-%d%s", name, n, suffix)
			continue
		}
		if err == nil {
			_, err = f.Write(text)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
}

// wantTexts checks that a page has these texts, in this order.
func wantTexts(t *testing.T, page string, texts ...string) {
	t.Helper()
	rest := page
	for _, text := range texts {
		_, after, found := strings.Cut(rest, text)
		if !found {
			t.Errorf("the page lacks %q, or has it before the others", text)
			continue
		}
		rest = after
	}
}

// TestFailedRun checks that a page begins with the outcome and the next step, and
// has each failure with its error output.
func TestFailedRun(t *testing.T) {
	page := writePage(t, reporttest.ExampleRun(), htmlview.Journal{})
	wantTexts(t, page, "Exit 3: 1 host failed", "ann@bastion", "3: something failed", "What to do", "free space in /boot", "holdfast apply -i berlin.hcl",
		"worker-01 failed at finalize", "it stays held", "Next step:", "free space in /boot", "No space left on device",
		"Left out", "unreachable", "worker-03", "no answer within 10s", "Warnings", "the clock is 3 s behind",
		"Timeline", "Batch 1", "etcd-1", "down for 10m3s", "2 of 3 voters were healthy", "p99 of WAL fsync",
		"update", "1.0 (ffe304ca31ef)", "action: drain, reboot", "rule: built-in: an OS image takes effect at a reboot")
}

// TestKilledPlaybook checks that the report of a killed playbook suggests the playbook for
// the hosts that lack tasks of the plays that began.
func TestKilledPlaybook(t *testing.T) {
	hosts := []string{"worker-01", "worker-02", "worker-03"}
	for name, c := range map[string]struct {
		second func(s *reporttest.Script)
		want   []string
	}{
		"in the second play": {func(s *reporttest.Script) {
			s.BeginPlay("restart", "reboot", hosts...)
			s.RebootHost("worker-01", time.Minute)
			s.RunStep("worker-02", "hold", s.At, time.Second)
		}, []string{"3 hosts touched, 1 updated", "without --limit, hosts that are done get all tasks again", "holdfast apply night.yaml -y -l &#39;worker-[02-03]&#39;"}},
		"with a host left out": {func(s *reporttest.Script) {
			s.BeginPlay("restart", "reboot", hosts[:2]...)
			s.Events[len(s.Events)-1].Plan.Excluded = []engine.Exclusion{{Host: "worker-03", Kind: engine.Held, Reason: "held by ann@bastion"}}
			s.RebootHost("worker-01", time.Minute)
			s.RebootHost("worker-02", time.Minute)
		}, []string{"3 hosts touched, 2 updated", "holdfast apply night.yaml -y -l worker-03<"}},
		"with a host outside of the limit that did not answer": {func(s *reporttest.Script) {
			s.AddEvent(event.Event{Type: event.HostGathered, Host: "etcd-2", Failure: &engine.Failure{Kind: engine.UnreachableFailure, Cause: "no route"}})
			s.BeginPlay("restart", "reboot", hosts...)
			s.RebootHost("worker-01", time.Minute)
			s.RebootHost("worker-02", time.Minute)
		}, []string{"3 hosts touched, 2 updated", "holdfast apply night.yaml -y -l worker-03<"}},
		"before the second play was approved": {func(s *reporttest.Script) {
			s.BeginPlay("restart", "reboot", hosts...)
		}, []string{"3 hosts touched, 3 updated", "run the plays that were not begun for all their hosts", "holdfast apply night.yaml -y<"}},
	} {
		t.Run(name, func(t *testing.T) {
			var s reporttest.Script
			s.StartRun("night.yaml", "--yes")
			s.BeginPlay("upgrade", "", hosts...)
			for _, host := range hosts {
				s.RebootHost(host, time.Minute)
			}
			c.second(&s)
			page := writePage(t, s.Events, htmlview.Journal{})
			for _, want := range c.want {
				wantTexts(t, page, want)
			}
		})
	}
}

// TestKilledRunNamesHolds checks that the page of a killed run names the hosts that stay held, also those of an earlier run that it had
// not come to, and apart from them the hosts that may be held.
func TestKilledRunNamesHolds(t *testing.T) {
	var s reporttest.Script
	s.StartRun("--yes")
	var p engine.Plan
	for i := range 6 {
		hp := reporttest.OSPlan(fmt.Sprintf("worker-%d", i), "worker", "", "")
		if i >= 3 {
			hp.Adopt = "20261120-080000-0001"
		}
		p.Hosts = append(p.Hosts, hp)
	}
	s.AddEvent(event.Event{Type: event.Planned, Plan: &p})
	s.RebootHost("worker-0", time.Minute)
	s.RunStep("worker-1", "hold", s.At, time.Second)
	s.AddEvent(event.Event{Type: event.StepStarted, Host: "worker-2", Step: "hold", Kind: engine.HoldStep})
	s.AddEvent(event.Event{Type: event.StepStarted, Host: "worker-3", Step: "hold", Kind: engine.HoldStep})
	s.RebootHost("worker-4", time.Minute)
	page := writePage(t, s.Events, htmlview.Journal{})
	wantTexts(t, page, "Until then these hosts stay held: worker-[1,3,5]. These may be held, as the run was about to hold them: worker-2.")
}

// TestClusterWithoutAnAnswer checks that a page does not count a time in which no member of a cluster answered as healthy.
func TestClusterWithoutAnAnswer(t *testing.T) {
	newSample := func(s event.Sample) event.Event { return event.Event{Type: event.EtcdSampled, Etcd: &s} }
	healthy := newSample(event.Sample{Voters: 3, Healthy: 3, Quorum: 2})
	silent := newSample(event.Sample{Problems: []string{"no sample within 30s"}})
	degraded := newSample(event.Sample{Voters: 3, Healthy: 2, Quorum: 2, UnhealthyHosts: []string{"etcd-1"}})
	passed := event.Event{Type: event.StepEnded, Host: "etcd-1", Step: "wait for etcd", Kind: engine.EtcdStep}
	for name, c := range map[string]struct {
		events []event.Event
		want   []string
	}{
		"at the end": {[]event.Event{healthy, healthy, silent, silent, silent}, []string{
			"All 3 voters were healthy in each of the 2 samples that a member answered (quorum 2, 3 more unanswered between 08:02:00 and 08:04:00).",
			"<td>08:02:00</td><td>no answer at the last event</td><td>at least 3m0s</td><td>not known</td><td>not known</td>",
			`<path d="M0.0 0.0H400.0"/>`,
		}},
		"in the middle": {[]event.Event{healthy, silent, degraded}, []string{
			"2 of 3 voters were healthy at the least while a member answered (quorum 2, 2 samples, 1 more unanswered at 08:01:00).",
			"<td>08:01:00</td><td>08:02:00</td><td>60 s</td><td>not known</td><td>not known</td>",
			`<path d="M0.0 0.0H333.3M666.7 33.3H1000"/>`,
		}},
		"at the begin": {[]event.Event{silent, healthy}, []string{
			"All 3 voters were healthy in the one sample that a member answered (quorum 2, 1 more unanswered at 08:00:00).",
			"<td>08:00:00</td><td>08:01:00</td><td>60 s</td><td>not known</td><td>not known</td>",
			`<path d="M500.0 0.0H1000"/>`,
		}},
		"before a check of the cluster": {[]event.Event{healthy, silent, passed}, []string{
			"All 3 voters were healthy in the one sample that a member answered (quorum 2, 1 more unanswered at 08:01:00).",
			"<td>08:01:00</td><td>08:02:00</td><td>60 s</td><td>not known</td><td>not known</td>",
			`<path d="M0.0 0.0H333.3M666.7 0.0H1000"/>`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var s reporttest.Script
			s.StartRun("--yes")
			for _, e := range c.events {
				e.Cluster = "main"
				s.AddEvent(e)
				s.At = s.At.Add(time.Minute)
			}
			s.EndRun(engine.Findings{}, event.RunEnd{})
			page := writePage(t, s.Events, htmlview.Journal{})
			for _, want := range c.want {
				if !strings.Contains(page, want) {
					i := strings.Index(page, `<h2 id="etcd">`)
					t.Errorf("the page lacks %q:\n%s", want, page[max(i, 0):])
				}
			}
		})
	}
}

// memberEvents returns a change of members that has replaced one member.
func memberEvents(command string) []event.Event {
	var events []event.Event
	at := reporttest.Began
	add := func(e event.Event) {
		at = at.Add(time.Second)
		e.Schema, e.Seq, e.Run, e.Time, e.Cluster = event.Schema, len(events)+1, "20261121-080000-0002", at, "main"
		events = append(events, e)
	}
	add(event.Event{Type: event.RunStarted, Start: &event.RunStart{Site: "berlin", Holder: "ann@bastion", Cluster: "main", Command: event.Command{Name: command, Args: []string{"main"}}}})
	for _, e := range []event.Event{{Step: "snapshot", Message: "saved in runs/main.db"}, {Step: "remove", Member: "9a"}, {Step: "add learner", Host: "etcd-3"}} {
		e.Type = event.StepStarted
		add(e)
		e.Type, e.Took = event.StepEnded, engine.Duration(time.Second)
		add(e)
	}
	return events
}

// TestChangeOfMembers checks the pages of etcd members apply and etcd restore:
// of a run that ended well, of one that failed, and of one that was killed.
func TestChangeOfMembers(t *testing.T) {
	for _, command := range []string{"etcd members apply", "etcd restore"} {
		base := memberEvents(command)
		last := base[len(base)-1]
		end := func(end event.RunEnd) event.Event {
			return event.Event{Schema: event.Schema, Run: last.Run, Time: last.Time.Add(time.Minute), Type: event.RunEnded, Cluster: "main", End: &end}
		}
		good := writePage(t, append(slices.Clip(base), end(event.RunEnd{})), htmlview.Journal{})
		wantTexts(t, good, "Exit 0: the members of etcd cluster main are as they should be.", "holdfast "+command+" main", "Steps", "snapshot", "saved in runs/main.db", "remove", "9a", "add learner", "etcd-3")
		if strings.Contains(good, "What to do") {
			t.Error("a run that ended well has a next step")
		}

		start := event.Event{Schema: event.Schema, Run: last.Run, Time: last.Time, Type: event.StepStarted, Cluster: "main", Host: "etcd-3", Step: "promote"}
		killed := writePage(t, append(slices.Clip(base), start), htmlview.Journal{})
		wantTexts(t, killed, "The run did not end", "Run the same command again", "holdfast "+command+" main", "Steps under way", "etcd-3", "promote")

		f := engine.Failure{Host: "etcd-3", Step: "promote", Cause: "the learner does not catch up", Stderr: "mvcc: database space exceeded", Hint: "defragment the leader"}
		failed := start
		failed.Type, failed.Failure = event.StepEnded, &f
		verdict := engine.NewVerdict(engine.Findings{Failures: []engine.Failure{{Cause: f.Error()}}})
		page := writePage(t, append(slices.Clip(base), start, failed, end(event.RunEnd{Exit: engine.ExitFailed, Verdict: verdict})), htmlview.Journal{})
		wantTexts(t, page, "Exit 3", "What to do", "etcd-3 failed at promote", "the learner does not catch up", "defragment the leader", "mvcc: database space exceeded")
		if n := strings.Count(page, `<article class="failure">`); n != 1 {
			t.Errorf("one failure is shown %d times", n)
		}
	}
}

// TestNotices checks that a page names each defect of its journal.
func TestNotices(t *testing.T) {
	events := reporttest.ExampleRun()
	unknown := event.Event{Schema: event.Schema, Run: events[0].Run, Time: events[3].Time, Type: "host-blessed"}
	page := writePage(t, append(slices.Clone(events[:8]), unknown, unknown), htmlview.Journal{Cut: true})
	wantTexts(t, page, "last line of the journal is incomplete", "does not know 2 events", "host-blessed", "The run did not end")
	page = writePage(t, events[:8], htmlview.Journal{Problem: "read journal x.jsonl:9: invalid character"})
	wantTexts(t, page, "could not be read to its end", "x.jsonl:9", "The end of the run is not known")
	page = writePage(t, events[:8], htmlview.Journal{UnderWay: true})
	wantTexts(t, page, "The run is under way")
	if strings.Contains(page, "What to do") {
		t.Error("a run that is under way has a next command")
	}
	writePage(t, nil, htmlview.Journal{})
}

// TestWorkOnHolds checks that the page of hold or release says which holds have
// changed and which have not, and nothing of a roll-out.
func TestWorkOnHolds(t *testing.T) {
	var events []event.Event
	for i, e := range []event.Event{
		{Type: event.RunStarted, Start: &event.RunStart{Site: "berlin", Holder: "ann@bastion", Maintenance: engine.HoldHosts}},
		{Type: event.MaintenancePlanned, Maintenance: &engine.MaintenancePlan{Action: engine.HoldHosts}},
		{Type: event.StepStarted, Host: "w-1", Step: "hold", Kind: engine.HoldStep},
		{Type: event.HostDone, Host: "w-1"},
		{Type: event.HostFailed, Host: "w-2", Failure: &engine.Failure{Kind: engine.HeldFailure, Cause: "held by bob"}},
		{Type: event.RunEnded, End: &event.RunEnd{Exit: engine.ExitRefused, Maintenance: engine.HoldHosts, Updated: []string{"w-1"}, Failed: []string{"w-2"}}},
	} {
		e.Schema, e.Run, e.Time = event.Schema, "20261121-080000-0003", reporttest.Began.Add(time.Duration(i)*time.Second)
		events = append(events, e)
	}
	page := writePage(t, events, htmlview.Journal{})
	wantTexts(t, page, "Exit 4: hold: 1 host held", "<dt>Hosts</dt><dd>w-1</dd>", "w-2 failed", "held by bob")
	for _, text := range []string{"does not know", "In all:", "What to do", "complete", "Timeline"} {
		if strings.Contains(page, text) {
			t.Errorf("the page has %q", text)
		}
	}
}

// TestForecastIsInTheHead checks that the page has the forecast of the first plan, beside how long the run took.
func TestForecastIsInTheHead(t *testing.T) {
	events := reporttest.ExampleRun()
	for i, e := range events {
		if e.Plan != nil {
			p := *e.Plan
			p.Forecast = &engine.Forecast{Known: true, Takes: engine.Duration(42 * time.Minute), Ends: reporttest.Began.Add(42 * time.Minute), Batches: []engine.BatchForecast{{Begins: reporttest.Began, MissesWindow: true}}}
			events[i].Plan = &p
			break
		}
	}
	want := "<dt>Forecast</dt><dd>42m, until Sat 2026-11-21 08:42 UTC, if it takes as long as in earlier runs. Batch 1 does not fit into the maintenance window; no window is long enough.</dd>"
	if text := writePage(t, events, htmlview.Journal{}); !strings.Contains(text, want) {
		t.Errorf("no %s", want)
	}
	for i, e := range events {
		if e.Plan != nil && e.Plan.Forecast != nil {
			e.Plan.Play = "etcd members"
			next := e
			next.Plan = &engine.Plan{Play: "workers", Forecast: &engine.Forecast{Without: []string{"w-1"}}}
			events = slices.Insert(slices.Clone(events), i+1, next)
			break
		}
	}
	wantTexts(t, writePage(t, events, htmlview.Journal{}), "<dt>Forecast of play etcd members</dt><dd>42m, until", "<dt>Forecast of play workers</dt><dd>none, because")
}

// TestPageNamesTheCommandForMoreChanges checks that a page without room for all changes has a command that can be typed.
func TestPageNamesTheCommandForMoreChanges(t *testing.T) {
	var s reporttest.Script
	s.StartRun("--yes")
	host := reporttest.OSPlan("worker-1", "worker", "", "")
	host.Changes = reporttest.InDirectory("create", "/etc/many", 2003)
	s.AddEvent(event.Event{Type: event.Planned, Plan: &engine.Plan{Hosts: []engine.HostPlan{host}}})
	wantTexts(t, writePage(t, s.Events, htmlview.Journal{}), "And 3 more changes; <code>holdfast runs 20261121-080000-0001 --verbose</code> shows them.")
}
