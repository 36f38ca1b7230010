package engine_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
)

const (
	thisRun = "run-now"
	deadRun = "run-dead"

	thisBastion = "b1"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestStance(t *testing.T) {
	past, future := now.Add(-time.Second), now.Add(time.Second)
	run := func(id string, expires time.Time) *engine.Hold {
		return &engine.Hold{Kind: engine.RunHold, Run: id, Bastion: thisBastion, Expires: expires}
	}
	maintenance := func(id string, expires time.Time) *engine.Hold {
		return &engine.Hold{Kind: engine.MaintenanceHold, Run: id, Bastion: thisBastion, Expires: expires}
	}
	far := func(kind engine.HoldKind, renewed time.Time, ahead time.Duration) engine.Facts {
		return engine.Facts{Hold: &engine.Hold{Kind: kind, Run: "x", Bastion: thisBastion, Renewed: renewed, Expires: now.Add(ahead)}, GatheredAt: now}
	}
	const year = 365 * 24 * time.Hour
	elsewhere := func(id, bastion string, expires time.Time) *engine.Hold {
		return &engine.Hold{Kind: engine.RunHold, Run: id, Bastion: bastion, Expires: expires}
	}
	never := time.Time{}
	for _, tc := range []struct {
		name  string
		facts engine.Facts
		want  engine.HolderKind
	}{
		{"none", engine.Facts{}, engine.HeldByNobody},
		{"own", engine.Facts{Hold: run(thisRun, future)}, engine.HeldByThisRun},
		{"own, expired", engine.Facts{Hold: run(thisRun, past)}, engine.HeldByThisRun},
		{"dead", engine.Facts{Hold: run(deadRun, future)}, engine.HeldByDeadRun},
		{"dead, expired", engine.Facts{Hold: run(deadRun, past)}, engine.HeldByDeadRun},
		{"dead, failed and so without end", engine.Facts{Hold: run(deadRun, never)}, engine.HeldByDeadRun},
		{"somebody's", engine.Facts{Hold: run("x", future)}, engine.HeldByOther},
		{"somebody's, to this second", engine.Facts{Hold: run("x", now)}, engine.HeldByOther},
		{"somebody's, expired", engine.Facts{Hold: run("x", past)}, engine.HeldByExpiredRun},
		{"somebody's, without end", engine.Facts{Hold: run("x", never)}, engine.HeldByOther},
		{"somebody's, clock not known", engine.Facts{Hold: run("x", past), Clock: never.Add(1)}, engine.HeldByOther},
		{"of a run without ID, expired", engine.Facts{Hold: run("", past)}, engine.HeldByOther},
		{"dead by a journal that came from another bastion", engine.Facts{Hold: elsewhere(deadRun, "b9", future)}, engine.HeldByOther},
		{"dead by its journal, of a bastion that it does not name", engine.Facts{Hold: elsewhere(deadRun, "", future)}, engine.HeldByOther},
		{"this run's ID, of another bastion", engine.Facts{Hold: elsewhere(thisRun, "b9", future)}, engine.HeldByOther},
		{"of another bastion, expired", engine.Facts{Hold: elsewhere("x", "b9", past)}, engine.HeldByExpiredRun},
		{"expired by the host's clock, which has jumped", engine.Facts{Hold: run("x", future), Clock: now.AddDate(1, 0, 0), GatheredAt: now.Add(-time.Hour)}, engine.HeldByOther},
		{"expired by the host's clock, which is a little ahead", engine.Facts{Hold: run("x", past), GatheredAt: now.Add(-time.Minute)}, engine.HeldByExpiredRun},
		{"expired by the bastion's clock only", engine.Facts{Hold: run("x", future), GatheredAt: now.AddDate(1, 0, 0)}, engine.HeldByOther},
		{"expired by both clocks, which are far apart", engine.Facts{Hold: run("x", past), GatheredAt: now.AddDate(1, 0, 0)}, engine.HeldByExpiredRun},
		{"of a bastion a year ahead", far(engine.RunHold, now.Add(-time.Hour), year), engine.HeldByOther},
		{"of a bastion a year ahead, and a month old", far(engine.RunHold, now.Add(-31*24*time.Hour), year), engine.HeldByExpiredRun},
		{"of a host a year behind, which was set right", far(engine.RunHold, now.Add(-year), time.Hour), engine.HeldByOther},
		{"for a year, of a person", far(engine.MaintenanceHold, now.Add(-8*24*time.Hour), year), engine.HeldByOther},
		{"maintenance", engine.Facts{Hold: maintenance("m", future)}, engine.HeldByOther},
		{"maintenance, expired", engine.Facts{Hold: maintenance("m", past)}, engine.HeldByOther},
		{"maintenance, with the ID of this run", engine.Facts{Hold: maintenance(thisRun, past)}, engine.HeldByOther},
		{"maintenance, with the ID of a dead run", engine.Facts{Hold: maintenance(deadRun, past)}, engine.HeldByOther},
		{"of a kind from the future", engine.Facts{Hold: &engine.Hold{Kind: "lease", Run: thisRun, Expires: past}}, engine.HeldByOther},
		{"unreadable", engine.Facts{HoldProblem: "unexpected end of JSON"}, engine.HeldByOther},
		{"unreadable in part", engine.Facts{HoldProblem: "trailing data", Hold: run(thisRun, future)}, engine.HeldByOther},
	} {
		if tc.facts.Clock.IsZero() {
			tc.facts.Clock = now
		}
		if got := tc.facts.ClassifyHolder(engine.HoldOwner{Run: thisRun, Bastion: thisBastion}, []string{"another", deadRun}); got != tc.want {
			t.Errorf("%s: stance %d, want %d", tc.name, got, tc.want)
		}
	}
	if got := (engine.Facts{Hold: run("", now)}).ClassifyHolder(engine.HoldOwner{}, nil); got != engine.HeldByOther {
		t.Errorf("a plan that belongs to no run owns a hold: %d", got)
	}
}

func TestHoldString(t *testing.T) {
	h := engine.Hold{Holder: "ann@bastion", Reason: "DIMM swap", Acquired: now}
	for _, tc := range []struct {
		change func()
		want   string
	}{
		{func() {}, `held by ann@bastion since 2026-03-01 12:00 UTC for "DIMM swap"`},
		{func() { h.Ticket = "OPS-7" }, `held by ann@bastion since 2026-03-01 12:00 UTC for "DIMM swap" (OPS-7)`},
		{func() { h.Expires = now.Add(4 * time.Hour) }, `held by ann@bastion since 2026-03-01 12:00 UTC for "DIMM swap" (OPS-7), until 2026-03-01 16:00 UTC`},
		{func() { h.Drain = &engine.HoldDrain{Name: "pods"} }, `held by ann@bastion since 2026-03-01 12:00 UTC for "DIMM swap" (OPS-7), until 2026-03-01 16:00 UTC, and its drain has begun`},
		{func() { h.Drain.Done = true }, `held by ann@bastion since 2026-03-01 12:00 UTC for "DIMM swap" (OPS-7), until 2026-03-01 16:00 UTC, and drained`},
	} {
		tc.change()
		if got := h.String(); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}

// The JSON of a hold without an end has no field for the end. Otherwise old
// readers and jq would read the year 1.
func TestHoldJSON(t *testing.T) {
	text, err := json.Marshal(engine.Hold{Kind: engine.RunHold, Holder: "a@b", Run: "r", Reason: "x", Acquired: now, Renewed: now})
	if err != nil || strings.Contains(string(text), "expires") {
		t.Errorf("%s, %v", text, err)
	}
	var back engine.Hold
	if err := json.Unmarshal(text, &back); err != nil || back.Expired(now.AddDate(100, 0, 0)) {
		t.Errorf("%+v expires, %v", back, err)
	}
}
