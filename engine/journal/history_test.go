package journal_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/journal"
)

// writeEndedRun writes the journal of a run of site berlin that ended some
// hours after its begin.
func writeEndedRun(t testing.TB, dir string, hours int, end event.RunEnd) {
	t.Helper()
	p := examplePlan()
	at := began.Add(time.Duration(hours) * time.Hour)
	writeJournal(t, dir, "run-"+at.Format("0102-1504"), []event.Event{
		{Type: event.RunStarted, Time: at.Add(-time.Minute), Start: &event.RunStart{Site: "berlin"}},
		{Type: event.Planned, Time: at.Add(-time.Minute), Plan: &p},
		{Type: event.RunEnded, Time: at, End: &end},
	})
}

// poolStatuses parses pools. "worker=A" is complete with OS A. "worker!A" is
// not complete because of an unreachable host. In "worker<A" a reachable host
// did not match.
func poolStatuses(pools ...string) []engine.PoolStatus {
	var list []engine.PoolStatus
	for _, p := range pools {
		i := strings.IndexAny(p, "=!<")
		state := map[byte]engine.HostState{'=': engine.Updated, '!': engine.Unreached, '<': engine.Pending}[p[i]]
		list = append(list, engine.PoolStatus{Name: p[:i], OS: p[i+1:], Complete: p[i] == '=', Counts: map[engine.HostState]int{state: 1, engine.Updated: 1}})
	}
	return list
}

// TestHistory checks the time since which each pool is complete or not, and its
// OS.
func TestHistory(t *testing.T) {
	for name, c := range map[string]struct {
		runs     []string // status at the end of each run, one run per hour
		now      string
		since    int // in hours; 0: unknown
		complete string
	}{
		"no runs":                                    {nil, "w=A", 0, ""},
		"complete once":                              {[]string{"w=A"}, "w=A", 1, "A"},
		"complete from the second on":                {[]string{"w!A", "w=A", "w=A", "w=A"}, "w=A", 2, "A"},
		"complete again":                             {[]string{"w=A", "w!A", "w=A"}, "w=A", 3, "A"},
		"not complete from the third on":             {[]string{"w=A", "w=A", "w!B", "w!B"}, "w!B", 3, ""},
		"not complete, whichever OS":                 {[]string{"w=A", "w!B", "w!C"}, "w!C", 2, ""},
		"complete with another OS":                   {[]string{"w=A", "w=A", "w=B"}, "w=B", 3, "B"},
		"it has been complete with it":               {[]string{"w!A", "w=A", "w!A"}, "w!A", 3, "A"},
		"back to an OS it was once complete with":    {[]string{"w=A", "w!B", "w!A"}, "w!A", 2, ""},
		"a host has lost it again":                   {[]string{"w=A", "w<A"}, "w!A", 2, ""},
		"lost again, and then not seen":              {[]string{"w=A", "w<A", "w!A"}, "w!A", 2, ""},
		"lost again, and put right":                  {[]string{"w=A", "w<A", "w=A", "w!A"}, "w!A", 4, "A"},
		"changed since the last run":                 {[]string{"w=A", "w=A"}, "w!A", 0, "A"},
		"completed since by somebody else":           {[]string{"w=A", "w!B"}, "w=B", 0, ""},
		"another pool":                               {[]string{"w=A", "v=A", "v!A"}, "w=A", 1, "A"},
		"a run that has seen nothing is no change":   {[]string{"w=A", "", "w=A"}, "w=A", 1, "A"},
		"a pool whose configurations alone are kept": {[]string{"w=", "w="}, "w=", 1, ""},
	} {
		dir := t.TempDir()
		for i, seen := range c.runs {
			writeEndedRun(t, dir, i+1, event.RunEnd{Pools: poolStatuses(strings.Fields(seen)...)})
		}
		h, err := journal.ReadHistory(dir, "berlin")
		if err != nil {
			t.Fatal(err)
		}
		status := engine.Status{Pools: poolStatuses(c.now)}
		since := h.WithSince(status).Pools[0].Since
		want := time.Time{}
		if c.since > 0 {
			want = began.Add(time.Duration(c.since) * time.Hour)
		}
		if !since.Equal(want) || h.Complete["w"] != c.complete {
			t.Errorf("%s: since %s, want %s; complete with %q, want %q", name, since, want, h.Complete["w"], c.complete)
		}
		if !status.Pools[0].Since.IsZero() {
			t.Errorf("%s: the status that was given has changed", name)
		}
		runs, err := journal.ListRuns(dir)
		if err != nil {
			t.Fatal(err)
		}
		if left := journal.SummarizeRuns(runs, "berlin", engine.HoldOwner{Run: "self"}); left.Complete["w"] != c.complete || !left.WithSince(status).Pools[0].Since.Equal(want) {
			t.Errorf("%s: whole journals tell otherwise: %+v", name, left)
		}
	}
}

// TestHistoryWithinASecond checks that of two runs in the same second the later
// one is newer, and not the one with the greater ID.
func TestHistoryWithinASecond(t *testing.T) {
	dir := t.TempDir()
	for i, run := range []string{"20261121-080000-bbbb", "20261121-080000-aaaa"} {
		at := began.Add(time.Duration(i) * 300 * time.Millisecond)
		writeJournal(t, dir, run, []event.Event{
			{Type: event.RunStarted, Time: at, Start: &event.RunStart{Site: "berlin"}},
			{Type: event.RunEnded, Time: at.Add(100 * time.Millisecond), End: &event.RunEnd{Pools: poolStatuses([]string{"w!A", "w=A"}[i])}},
		})
	}
	h, err := journal.ReadHistory(dir, "berlin")
	if got := h.WithSince(engine.Status{Pools: poolStatuses("w=A")}).Pools[0].Since; err != nil || got.IsZero() {
		t.Errorf("since %s, %v", got, err)
	}
}

// TestHistoryOutlivesJournals checks that the end of a run repeats the history
// before it, so that older journals can be removed.
func TestHistoryOutlivesJournals(t *testing.T) {
	dir := t.TempDir()
	pools := poolStatuses("w=A")
	pools[0].Since = began
	writeEndedRun(t, dir, 5, event.RunEnd{Pools: pools})
	h, err := journal.ReadHistory(dir, "berlin")
	if got := h.WithSince(engine.Status{Pools: poolStatuses("w=A")}).Pools[0].Since; err != nil || !got.Equal(began) {
		t.Errorf("since %s, %v", got, err)
	}
}

// TestHistorySkipsOtherFiles checks that interrupted runs, other sites and
// other files add nothing, and cause no error.
func TestHistorySkipsOtherFiles(t *testing.T) {
	dir := t.TempDir()
	writeEndedRun(t, dir, 1, event.RunEnd{Pools: poolStatuses("w=A")})
	whole, err := os.ReadFile(filepath.Join(dir, "run-1121-0900.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	later := strings.ReplaceAll(string(whole), `"complete":true`, `"complete":false`)
	for i, text := range []string{
		"", "\n", "rubbish", "rubbish\nrubbish\n", "{}\n{}\n", later[:len(later)-1], later[:len(later)/2], later[strings.Index(later, "\n")+1:],
		strings.Replace(later, `"site":"berlin"`, `"site":"oslo"`, 1), strings.Repeat("x", 200_000), later + "null\n", later + `{"type":"run-ended"}` + "\n",
		strings.SplitAfter(later, "\n")[0] + strings.Repeat("x", 20<<20) + "\n",
	} {
		saveJournal(t, dir, fmt.Sprintf("run-2-%02d", i), []byte(text))
	}
	if err := os.Mkdir(filepath.Join(dir, "run-3.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	h, err := journal.ReadHistory(dir, "berlin")
	if got := h.WithSince(engine.Status{Pools: poolStatuses("w=A")}).Pools[0].Since; err != nil || !got.Equal(began.Add(time.Hour)) {
		t.Errorf("since %s, %v", got, err)
	}
	if h, err := journal.ReadHistory(filepath.Join(dir, "none"), "berlin"); err != nil || len(h.Complete) > 0 {
		t.Errorf("%+v, %v", h, err)
	}
}

// TestHistoryOfALargeRun checks that the end of a run is found at any length.
func TestHistoryOfALargeRun(t *testing.T) {
	dir := t.TempDir()
	end := event.RunEnd{Pools: poolStatuses("w=A")}
	for i := range 40_000 {
		end.Updated = append(end.Updated, fmt.Sprintf("worker-%05d.berlin.example", i))
	}
	writeEndedRun(t, dir, 1, end)
	h, err := journal.ReadHistory(dir, "berlin")
	if err != nil || h.Complete["w"] != "A" {
		t.Errorf("%+v, %v", h, err)
	}
}

// TestFailedHosts checks that the history has the hosts whose last work failed.
func TestFailedHosts(t *testing.T) {
	stopped := func(end event.RunEnd) event.RunEnd {
		end.Exit = engine.ExitStopped
		return end
	}
	for name, c := range map[string]struct {
		runs []event.RunEnd
		want []string
	}{
		"the last run":                              {[]event.RunEnd{{Failed: []string{"b", "a"}}}, []string{"a", "b"}},
		"not those of the run before":               {[]event.RunEnd{{Failed: []string{"a"}}, {Failed: []string{"b"}}}, []string{"b"}},
		"nothing failed":                            {[]event.RunEnd{{Failed: []string{"a"}}, {Updated: []string{"a"}}}, nil},
		"the last run was stopped before":           {[]event.RunEnd{{Failed: []string{"a", "b"}}, stopped(event.RunEnd{Updated: []string{"b"}})}, []string{"a"}},
		"the last run did nothing":                  {[]event.RunEnd{{Failed: []string{"a"}}, {}, {}}, []string{"a"}},
		"failed in both":                            {[]event.RunEnd{{Failed: []string{"a"}}, stopped(event.RunEnd{Failed: []string{"a"}})}, []string{"a"}},
		"stopped, but what it has done is not lost": {[]event.RunEnd{stopped(event.RunEnd{Failed: []string{"c"}}), stopped(event.RunEnd{Updated: []string{"d"}})}, []string{"c"}},
	} {
		dir := t.TempDir()
		for i, end := range c.runs {
			writeEndedRun(t, dir, i, end)
		}
		h, err := journal.ReadHistory(dir, "berlin")
		if err != nil || !slices.Equal(h.Failed, c.want) {
			t.Errorf("%s: %q, want %q; %v", name, h.Failed, c.want, err)
		}
	}
}

// TestHistoryOfKilledRun: a run that was killed may have begun another OS. So what older runs say about its pools no longer counts, until a newer run has
// seen them complete.
func TestHistoryOfKilledRun(t *testing.T) {
	step := func(host, pool string) event.Event {
		return event.Event{Type: event.StepStarted, Host: host, Pool: pool, Step: "reboot"}
	}
	bringsOS := func(e event.Event) event.Event {
		e.NewOS = true
		return e
	}
	for name, c := range map[string]struct {
		start event.RunStart
		did   []event.Event
		after string // status that a later run reports
		want  map[string]string
	}{
		"it did nothing":                    {event.RunStart{}, nil, "", map[string]string{"w": "A", "v": "A"}},
		"it began a host":                   {event.RunStart{}, []event.Event{step("w-0", "w")}, "", map[string]string{"v": "A"}},
		"it updated a host":                 {event.RunStart{}, []event.Event{step("w-0", "w"), {Type: event.HostDone, Host: "w-0", Pool: "w"}}, "", map[string]string{"v": "A"}},
		"nobody knows in which pool":        {event.RunStart{}, []event.Event{step("w-0", "")}, "", map[string]string{}},
		"a later run has seen it complete":  {event.RunStart{}, []event.Event{step("w-0", "w")}, "w=A", map[string]string{"w": "A", "v": "A"}},
		"a later run has seen another pool": {event.RunStart{}, []event.Event{step("w-0", "w")}, "v=A", map[string]string{"v": "A"}},
		"a change of members":               {event.RunStart{Cluster: "main"}, []event.Event{step("w-0", "w")}, "", map[string]string{"w": "A", "v": "A"}},
		"it brought no OS":                  {event.RunStart{MarksNewOS: true}, []event.Event{step("w-0", "w"), step("", ""), {Type: event.HostDone, Host: "w-0", Pool: "w"}}, "", map[string]string{"w": "A", "v": "A"}},
		"it may have brought an OS":         {event.RunStart{MarksNewOS: true}, []event.Event{step("v-0", "v"), bringsOS(step("w-0", "w"))}, "", map[string]string{"v": "A"}},
		"an OS, nobody knows in which pool": {event.RunStart{MarksNewOS: true}, []event.Event{bringsOS(step("w-0", ""))}, "", map[string]string{}},
		"work of a person":                  {event.RunStart{Maintenance: engine.HoldHosts}, []event.Event{step("w-0", "w")}, "", map[string]string{"w": "A", "v": "A"}},
	} {
		dir := t.TempDir()
		writeEndedRun(t, dir, 1, event.RunEnd{Pools: poolStatuses("w=A", "v=A")})
		c.start.Site = "berlin"
		events := append([]event.Event{{Type: event.RunStarted, Start: &c.start}}, c.did...)
		for i := range events {
			events[i].Time = began.Add(2 * time.Hour)
		}
		writeJournal(t, dir, "run-"+events[0].Time.Format("0102-1504"), events)
		if c.after != "" {
			writeEndedRun(t, dir, 3, event.RunEnd{Pools: poolStatuses(c.after)})
		}
		runs, err := journal.ListRuns(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := journal.SummarizeRuns(runs, "berlin", engine.HoldOwner{}).Complete; !maps.Equal(got, c.want) {
			t.Errorf("%s: complete %v, not %v", name, got, c.want)
		}
	}
}
