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
