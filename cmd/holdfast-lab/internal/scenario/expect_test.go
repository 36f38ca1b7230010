package scenario

import (
	"strings"
	"testing"
	"time"

	"holdfast/cmd/holdfast-lab/internal/idle"
	"holdfast/cmd/holdfast-lab/internal/probe"
)

func TestOnlyShortDelaysAreExcused(t *testing.T) {
	limits := expectation{min: 2, failed: 5, gap: 500 * time.Millisecond}
	quiet, busy := idle.Load{Taken: 0.1}, idle.Load{Taken: 0.9}
	start := time.Unix(0, 0)
	voters := func(short time.Duration) []probe.Voters {
		return []probe.Voters{{At: start, Count: 3}, {At: start.Add(time.Second), Count: 1}, {At: start.Add(time.Second + short/2), Count: 0}, {At: start.Add(time.Second + short), Count: 2}}
	}
	size := func(count, listed int) probe.Voters { return probe.Voters{At: start, Count: count, Listed: listed} }
	kept := expectation{quorum: true, failed: 5, gap: time.Second}
	away := limits
	away.order, away.away = true, []string{"etcd-0"}
	for name, c := range map[string]struct {
		limits  expectation
		report  probe.Report
		load    idle.Load
		stall   time.Duration
		excused string
		wrong   string
	}{
		"nothing":                         {limits, probe.Report{MinVoters: 2}, busy, 0, "", ""},
		"a delay":                         {limits, probe.Report{MinVoters: 2, Gap: 600 * time.Millisecond}, busy, 0, "90 % of its processors", ""},
		"a delay on a quiet machine":      {limits, probe.Report{MinVoters: 2, Gap: 600 * time.Millisecond}, quiet, 0, "", "nothing was committed for 600ms"},
		"a slow disk":                     {limits, probe.Report{MinVoters: 2, Gap: 900 * time.Millisecond}, quiet, 450 * time.Millisecond, "its disk took up to 450 ms", ""},
		"a disk that does not explain it": {limits, probe.Report{MinVoters: 2, Gap: 900 * time.Millisecond}, quiet, 200 * time.Millisecond, "", "nothing was committed for 900ms"},
		"no quorum on a slow disk":        {limits, probe.Report{MinVoters: 2, Gap: 2 * time.Second}, quiet, time.Minute, "", "nothing was committed for 2s"},
		"failed writes on a slow disk":    {limits, probe.Report{MinVoters: 2, Failed: 6}, quiet, time.Minute, "", "6 writes failed"},
		"late answers, slow disk":         {limits, probe.Report{Voters: voters(time.Second)}, quiet, 500 * time.Millisecond, "only 0 voters answered", ""},
		"no quorum":                       {limits, probe.Report{MinVoters: 2, Gap: 2 * time.Second}, busy, 0, "", "nothing was committed for 2s"},
		"late answers":                    {limits, probe.Report{Voters: voters(time.Second)}, busy, 0, "only 0 voters answered", ""},
		"late answers, quiet":             {limits, probe.Report{Voters: voters(time.Second)}, quiet, 0, "", "only 0 voters answered"},
		"two reboots at once":             {limits, probe.Report{Voters: voters(2 * time.Second)}, busy, 0, "", "only 0 voters answered"},
		"two that never come back":        {limits, probe.Report{Took: time.Minute, Voters: voters(2 * time.Second)[:2]}, busy, 0, "", "only 0 voters answered"},
		"quorum kept while it shrinks":    {kept, probe.Report{Voters: []probe.Voters{size(3, 3), size(2, 3), size(1, 1)}, Least: size(2, 3)}, quiet, 0, "", ""},
		"quorum lost for a moment":        {kept, probe.Report{Took: time.Second, Voters: []probe.Voters{size(1, 2)}, Least: size(1, 2)}, busy, 0, "spare -1 (1 of 2 voters answered, quorum 2)", ""},
		"quorum lost, quiet":              {kept, probe.Report{Took: time.Second, Voters: []probe.Voters{size(1, 2)}, Least: size(1, 2)}, quiet, 0, "", "spare -1 (1 of 2 voters answered, quorum 2)"},
		"quorum lost for long":            {kept, probe.Report{Took: time.Minute, Voters: []probe.Voters{size(1, 2)}, Least: size(1, 2)}, busy, 0, "", "no quorum answered"},
		"failed writes":                   {limits, probe.Report{MinVoters: 2, Failed: 6}, busy, 0, "", "6 writes failed"},
		"nobody was away":                 {away, probe.Report{MinVoters: 2}, busy, 0, "", "away were , not etcd-0"},
		"a delay besides failed writes":   {limits, probe.Report{MinVoters: 2, Failed: 6, Gap: 600 * time.Millisecond}, busy, 0, "", "nothing was committed for 600ms"},
	} {
		t.Run(name, func(t *testing.T) {
			excused, err := judgeMisses(c.limits.findMisses(c.report), c.load, c.stall)
			wrong := ""
			if err != nil {
				wrong = err.Error()
			}
			if !strings.Contains(excused, c.excused) || (excused == "") != (c.excused == "") {
				t.Errorf("excused: %q, want %q", excused, c.excused)
			}
			if !strings.Contains(wrong, c.wrong) || (wrong == "") != (c.wrong == "") {
				t.Errorf("wrong: %q, want %q", wrong, c.wrong)
			}
		})
	}
}

func TestParseArgs(t *testing.T) {
	grown, same := probe.Report{Changes: []int{1, 2, 3}, Quorum: 1}, probe.Report{Changes: []int{3}, Quorum: 2}
	for name, c := range map[string]struct {
		report probe.Report
		args   string
		min    int
		quorum bool
	}{
		"three voters":             {same, "", 2, false},
		"three voters, and min":    {same, "min=3", 3, false},
		"three voters, and quorum": {same, "quorum=kept", 2, true},
		"a change":                 {grown, "", 0, true},
		"a change, and min":        {grown, "min=0", 0, false},
		"a change, and both":       {grown, "quorum=kept min=1", 1, true},
	} {
		e := newExpectation(c.report)
		if err := e.parseArgs(strings.Fields(c.args)); err != nil {
			t.Fatal(err)
		}
		if e.min != c.min || e.quorum != c.quorum {
			t.Errorf("%s: min %d, quorum %v", name, e.min, e.quorum)
		}
	}
	for _, wrong := range []string{"quorum=lost", "quorum", "min=few", "most=3"} {
		e := newExpectation(same)
		if err := e.parseArgs([]string{wrong}); err == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
}

func TestFormatResults(t *testing.T) {
	if got := formatResults(nil); got != "" {
		t.Errorf("without watches: %q", got)
	}
	least := probe.Voters{At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local), Count: 2, Listed: 3}
	got := formatResults([]watchResult{
		{scenario: "members", cluster: "main", report: probe.Report{Took: 90 * time.Second, Writes: 1800, Gap: 210 * time.Millisecond, Changes: []int{1, 2, 3}, Least: least, Joined: []probe.Joining{{Name: "etcd-1", Took: 4100 * time.Millisecond}}}, lost: "0"},
		{scenario: "canary", cluster: "main", report: probe.Report{Took: time.Second, Writes: 20, Failed: 1, Changes: []int{3}, Least: least}, lost: "-"},
	})
	for _, want := range []string{
		"SCENARIO  WATCH   TIME  WRITES  FAILED  LOST  LONGEST GAP  VOTERS  SMALLEST SPARE                                    A LEARNER VOTES AFTER\n",
		"members   main 1  90 s  1800    0       0     210 ms       1→2→3   0 (2 of 3 voters answered, quorum 2) at 03:04:05  4.1 s\n",
		"canary    main 1  1 s   20      1       -     0 ms         3       0 (2 of 3 voters answered, quorum 2) at 03:04:05  -\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no line %q in\n%s", want, got)
		}
	}
}
