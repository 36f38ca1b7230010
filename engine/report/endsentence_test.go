package report_test

import (
	"testing"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report"
)

// TestExclusionsInASentence checks that the end of a run is one sentence for
// any number of excluded hosts.
func TestExclusionsInASentence(t *testing.T) {
	x := func(host string, kind engine.ExclusionKind, reason string) engine.Exclusion {
		return engine.Exclusion{Host: host, Kind: kind, Reason: reason}
	}
	few := []engine.Exclusion{
		x("w-1", engine.Unreachable, "connection refused"), x("w-2", engine.Held, "ann"), x("w-3", engine.Unreachable, "connection refused"),
	}
	many := append(few[:3:3], x("w-4", engine.Unreachable, "no route"), x("w-5", engine.Unreachable, "no sudo"))
	for want, list := range map[string][]engine.Exclusion{
		"incomplete: w-[1,3] are unreachable (connection refused); w-2 is held (ann)": few,
		"incomplete: w-[1,3-5] are unreachable; w-2 is held; holdfast plan says why":  many,
	} {
		if got := report.EndSentence(event.CauseOf(engine.Plan{Excluded: list})); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestEndSentence checks that every kind of end has a sentence, with other
// failures, errors of the journal and stops by the operator.
func TestEndSentence(t *testing.T) {
	also := []engine.Failure{{Host: "w-1", Cause: "exit status 1"}}
	failed := engine.Failure{Host: "w-2", Step: "drain", Cause: "exit status 2"}
	held := engine.Failure{Host: "w-2", Step: "hold", Cause: "held by ann", Kind: engine.HeldFailure}
	for want, c := range map[string]event.EndCause{
		"every host matches":                  {Kind: event.MatchedEnd},
		"every host within the limit matches": {Kind: event.MatchedEnd, Limited: true},
		"w-1 has failed (exit status 1); apart from that: every host matches":                                                                            {Kind: event.MatchedEnd, AlsoFailed: also},
		"w-[1-2] have failed; apart from that: every host matches":                                                                                       {Kind: event.MatchedEnd, AlsoFailed: append(also, failed)},
		"stopped by the operator; incomplete: w-3: drift, which is only reported; holdfast plan shows it":                                                {Kind: event.IncompleteEnd, Drift: []string{"w-3"}, Stopped: true},
		"play one: not safe to go on: a; b":                                                                                                              {Kind: event.RefusedEnd, Play: "one", Refusals: []string{"a", "b"}},
		"w-2: drain: exit status 2":                                                                                                                      {Kind: event.FailedEnd, Failure: &failed, AlsoFailed: also},
		"w-2: hold: held by ann; w-1 has failed (exit status 1)":                                                                                         {Kind: event.FailedEnd, Failure: &held, AlsoFailed: also},
		"disk full; nothing was touched":                                                                                                                 {Kind: event.UntouchedEnd, Journal: "disk full"},
		"disk full; apart from that: every host matches":                                                                                                 {Kind: event.MatchedEnd, Journal: "disk full"},
		"not approved; nothing was changed":                                                                                                              {Kind: event.DeclinedEnd},
		"not approved: play one was not begun; the results of earlier plays stay":                                                                        {Kind: event.DeclinedEnd, Play: "one"},
		"not approved: the run ends before this batch; the results of earlier batches stay":                                                              {Kind: event.DeclinedBatchEnd},
		"stopped at once by the operator; holds stay, and the next run goes on from here":                                                                {Kind: event.StoppedEnd},
		"the playbook is done; holdfast status says whether every host matches":                                                                          {Kind: event.PlayedEnd},
		"the reason is unknown; holdfast status says whether every host matches":                                                                         {},
		"play one: the reason is unknown; holdfast status says whether every host matches":                                                               {Kind: "of a newer release", Play: "one"},
		"refused: an earlier roll-out has not reached every host, and this run would roll out another OS: w-1 runs os 1.0":                               {Kind: event.UnfinishedEnd, Unfinished: []engine.UnfinishedHost{{Host: "w-1", Reason: "runs os 1.0"}}},
		"w-2: drain: exit status 2; 2 hosts have failed, which is more than the failure budget of pool w allows (--best-effort goes on with the others)": {Kind: event.FailedEnd, Failure: &failed, Spent: &event.SpentBudget{Failed: 2, Pool: "w"}},
	} {
		if got := report.EndSentence(c); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
