package demo

import (
	"strings"
	"testing"
	"time"

	"holdfast/cmd/holdfast-lab/internal/idle"
	"holdfast/cmd/holdfast-lab/internal/probe"
)

// memberReport returns a report of three members. gap is the longest time without
// a commit; away is how long one member was down.
func memberReport(gap, away time.Duration) probe.Report {
	r := probe.Report{Gap: gap, MinVoters: 2, Quorum: 2}
	from := time.Unix(0, 0)
	for _, name := range []string{"etcd-0", "etcd-1", "etcd-2"} {
		r.Members = append(r.Members, probe.MemberReport{Name: name, Away: []probe.Span{{From: from, To: from.Add(away)}}})
	}
	return r
}

func TestAMissOnABusyMachineIsNoBrokenPromise(t *testing.T) {
	bare := map[string]time.Duration{"etcd-0": 5 * time.Second, "etcd-1": 5 * time.Second, "etcd-2": 5 * time.Second}
	quiet, loaded, slow := idle.Load{Taken: 0.1, Gap: 60 * time.Millisecond}, idle.Load{Taken: 0.97, Gap: 60 * time.Millisecond}, idle.Load{Taken: 0.2, Gap: 300 * time.Millisecond}
	few := memberReport(100*time.Millisecond, 6*time.Second)
	few.MinVoters = 1
	unseen := memberReport(100*time.Millisecond, 0)
	for name, c := range map[string]struct {
		report         probe.Report
		before, after  idle.Load
		missed, broken string
	}{
		"all is well":                   {memberReport(100*time.Millisecond, 6*time.Second), loaded, loaded, "", ""},
		"a gap on a quiet machine":      {memberReport(400*time.Millisecond, 6*time.Second), quiet, quiet, "", "a promise was broken: etcd committed nothing for 400 ms"},
		"a gap on a busy machine":       {memberReport(400*time.Millisecond, 6*time.Second), loaded, loaded, "the machine was busy or slow: with nothing going on in the lab before the update 97 % of its processors", ""},
		"a gap, busy since":             {memberReport(400*time.Millisecond, 6*time.Second), quiet, loaded, "after the update 97 % of its processors", ""},
		"a gap on a slow disk":          {memberReport(400*time.Millisecond, 6*time.Second), slow, slow, "etcd committed nothing for 300 ms at a time", ""},
		"no quorum, however busy":       {memberReport(3*time.Second, 6*time.Second), loaded, loaded, "", "a promise was broken: etcd committed nothing for 3000 ms"},
		"a slow boot on a busy machine": {memberReport(100*time.Millisecond, 9*time.Second), loaded, loaded, "etcd-0 was away for 9.00 s", ""},
		"a slow boot on a slow machine": {memberReport(100*time.Millisecond, 9*time.Second), idle.Load{Start: 3 * time.Millisecond}, quiet, "the start of a program took 3.0 ms", ""},
		"a gap on a slow machine":       {memberReport(400*time.Millisecond, 6*time.Second), idle.Load{Start: 3 * time.Millisecond}, quiet, "", "a promise was broken: etcd committed nothing for 400 ms"},
		"a gap, slow, and busy since":   {memberReport(400*time.Millisecond, 6*time.Second), idle.Load{Start: 3 * time.Millisecond}, loaded, "after the update 97 % of its processors", ""},
		"a slow boot":                   {memberReport(100*time.Millisecond, 9*time.Second), quiet, quiet, "", "etcd-2 was away for 9.00 s"},
		"away for much too long":        {memberReport(100*time.Millisecond, 30*time.Second), loaded, loaded, "", "etcd-1 was away for 30.00 s"},
		"a voter that answers late":     {few, loaded, quiet, "only 1 voters answered", ""},
		"too few voters":                {few, quiet, quiet, "", "only 1 voters answered"},
		"nothing was seen":              {unseen, loaded, loaded, "", "cannot be right"},
	} {
		t.Run(name, func(t *testing.T) {
			missed, err := splitMisses(findMisses(c.report, bare), c.before, c.after, 0)
			broken := ""
			if err != nil {
				broken = err.Error()
			}
			if !strings.Contains(missed, c.missed) || (missed == "") != (c.missed == "") {
				t.Errorf("missed: %q, want %q", missed, c.missed)
			}
			if !strings.Contains(broken, c.broken) || (broken == "") != (c.broken == "") {
				t.Errorf("broken: %q, want %q", broken, c.broken)
			}
		})
	}
}
