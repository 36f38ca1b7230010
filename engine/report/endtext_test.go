package report_test

import (
	"testing"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/event"
	"holdfast/engine/report"
)

// TestEndText checks the outcome and the numbers of each kind of end.
func TestEndText(t *testing.T) {
	x := func(host string, kind engine.ExclusionKind) engine.Exclusion {
		return engine.Exclusion{Host: host, Kind: kind}
	}
	fail := func(f engine.Failure) engine.Findings { return engine.Findings{Failures: []engine.Failure{f}} }
	for want, c := range map[string]struct {
		found engine.Findings
		end   event.RunEnd
	}{
		"every host matches":                             {end: event.RunEnd{Complete: true}},
		"every host matches; 2 hosts updated":            {end: event.RunEnd{Complete: true, Updated: []string{"a", "b"}}},
		"done; the site is not complete; 1 host updated": {end: event.RunEnd{Updated: []string{"a"}}},
		"not approved; no host was disrupted":            {found: engine.Findings{Stopped: true, Declined: true}},
		"not approved; 1 host not updated":               {engine.Findings{Stopped: true, Declined: true}, event.RunEnd{HoldsTaken: 1, Untouched: []string{"a"}}},
		"not approved; 1 host updated, 2 not updated":    {engine.Findings{Stopped: true, Declined: true}, event.RunEnd{Updated: []string{"a"}, Untouched: []string{"b", "c"}}},
		"stopped by the operator; 1 host failed":         {engine.Findings{Stopped: true, Failures: []engine.Failure{{Host: "a"}}}, event.RunEnd{Failed: []string{"a"}}},
		"snapshot etcd failed; 3 hosts not updated":      {fail(engine.Failure{Step: "snapshot etcd"}), event.RunEnd{Untouched: []string{"a", "b", "c"}}},
		"the journal cannot be written; 1 host failed":   {fail(engine.Failure{Host: "a", Step: "hold", Kind: engine.JournalFailure}), event.RunEnd{Failed: []string{"a"}}},
		"refused":                              {found: fail(engine.Failure{Step: "compare", Kind: engine.RefusedFailure})},
		"refused: hosts are held; 1 host held": {found: engine.Findings{Failures: []engine.Failure{{Step: "plan", Kind: engine.HeldFailure}}, Excluded: []engine.Exclusion{x("a", engine.Held)}}},
		"not safe to go on; etcd cluster main is not healthy": {found: engine.Findings{Refusals: []string{"x"}, UnhealthyClusters: unhealthyClusters("main")}},
		"2 etcd clusters are not healthy":                     {found: engine.Findings{UnhealthyClusters: unhealthyClusters("main", "events")}},
		"refused: an earlier roll-out is unfinished":          {found: engine.Findings{Unfinished: []engine.UnfinishedHost{{Host: "a"}}}},
		"2 hosts paused, 1 waiting for a maintenance window":  {engine.Findings{Excluded: []engine.Exclusion{x("a", engine.Paused), x("b", engine.Paused), x("c", engine.Closed)}}, event.RunEnd{Untouched: []string{"c"}}},
		"1 host failed, 1 rolled back, 1 drifted":             {engine.Findings{Excluded: []engine.Exclusion{x("a", engine.Failed), x("b", engine.RolledBack)}, Drift: []string{"c"}}, event.RunEnd{Failed: []string{"a"}}},
		"1 host unreachable; 1 host updated, 1 not updated":   {engine.Findings{Excluded: []engine.Exclusion{x("a", engine.Unreachable)}}, event.RunEnd{Updated: []string{"b"}, Untouched: []string{"c"}}},
		"1 host not understood, 1 held, 1 blocked":            {engine.Findings{Excluded: []engine.Exclusion{x("a", engine.Unclear), x("b", engine.Held), x("c", engine.Blocked)}}, event.RunEnd{Untouched: []string{"c"}}},
		"failed": {found: fail(engine.Failure{Cause: "no facts"})},
	} {
		c.end.Verdict = engine.NewVerdict(c.found)
		c.end.Exit = c.end.Verdict.Exit
		if got := report.EndText(c.end); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

func unhealthyClusters(names ...string) (list []etcdfacts.UnhealthyCluster) {
	for _, name := range names {
		list = append(list, etcdfacts.UnhealthyCluster{Cluster: name})
	}
	return list
}
