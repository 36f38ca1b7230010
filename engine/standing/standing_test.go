package standing

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/kubefacts"
)

func TestStanding(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	self := engine.HoldOwner{Run: "r9", Bastion: "b"}
	hold := func(run, bastion string, change ...func(*engine.Hold)) engine.Facts {
		h := &engine.Hold{Kind: engine.RunHold, Run: run, Bastion: bastion, Expires: now.Add(time.Hour)}
		for _, c := range change {
			c(h)
		}
		return engine.Facts{Clock: now, GatheredAt: now, Hold: h}
	}
	expired := func(h *engine.Hold) { h.Expires = now.Add(-time.Hour) }
	failed := func(h *engine.Hold) { h.Step = "reboot" }
	ahead := hold("r5", "c", expired)
	ahead.GatheredAt = now.Add(-2 * time.Hour)
	unreachedAndHeld := hold("r5", "c")
	unreachedAndHeld.Unreachable = "no route"
	lastHeld := engine.Facts{Unreachable: "no route", LastHold: &engine.LastHold{Hold: engine.Hold{Kind: engine.MaintenanceHold, Holder: "ann@b"}, Seen: now}}
	unreadable := hold("r9", "b")
	unreadable.HoldProblem = "not JSON"

	type verdict struct {
		want        Kind
		unavailable bool
		adopts      bool
		exclusion   engine.ExclusionKind
		state       engine.HostState
	}
	for name, c := range map[string]struct {
		facts engine.Facts
		verdict
	}{
		"free":                                  {engine.Facts{}, verdict{Free, false, false, "", ""}},
		"unreachable":                           {engine.Facts{Unreachable: "no route"}, verdict{Unreached, true, false, engine.Unreachable, engine.Unreached}},
		"unreachable, and held as far as known": {unreachedAndHeld, verdict{Unreached, true, false, engine.Unreachable, engine.Unreached}},
		"unreachable, and held when last seen":  {lastHeld, verdict{HeldWhenLastSeen, true, false, engine.Held, engine.HeldState}},
		"a hold that cannot be read":            {unreadable, verdict{UnreadablyHeld, true, false, engine.Held, engine.HeldState}},
		"maintenance":                           {hold("", "", func(h *engine.Hold) { h.Kind = engine.MaintenanceHold }), verdict{HeldByPerson, true, false, engine.Held, engine.HeldState}},
		"maintenance that has expired":          {hold("", "", expired, func(h *engine.Hold) { h.Kind = engine.MaintenanceHold }), verdict{HeldByPerson, true, false, engine.Held, engine.HeldState}},
		"this run":                              {hold("r9", "b"), verdict{HeldByThisRun, true, true, "", engine.Updating}},
		"this run, which failed there":          {hold("r9", "b", failed), verdict{HeldByThisRun, true, true, "", engine.Degraded}},
		"its ID on another bastion":             {hold("r9", "c"), verdict{HeldByRun, true, false, engine.Held, engine.Updating}},
		"another run":                           {hold("r5", "c"), verdict{HeldByRun, true, false, engine.Held, engine.Updating}},
		"another run, which failed there":       {hold("r5", "c", failed), verdict{HeldByRun, true, false, engine.Held, engine.Degraded}},
		"a run without ID":                      {hold("", "b"), verdict{HeldByRun, true, false, engine.Held, engine.Updating}},
		"a dead run":                            {hold("r1", "b"), verdict{HeldByDeadRun, true, true, "", engine.Updating}},
		"a dead run, which failed there":        {hold("r1", "b", failed), verdict{HeldByDeadRun, true, true, "", engine.Degraded}},
		"a dead run, expired":                   {hold("r1", "b", expired), verdict{HeldByDeadRun, true, true, "", engine.Updating}},
		"a dead run's ID on another bastion":    {hold("r1", "c"), verdict{HeldByRun, true, false, engine.Held, engine.Updating}},
		"a dead run that names no bastion":      {hold("r1", ""), verdict{HeldByRun, true, false, engine.Held, engine.Updating}},
		"an expired run":                        {hold("r5", "c", expired), verdict{HeldByExpiredRun, true, true, "", engine.Updating}},
		"expired by one of two clocks":          {ahead, verdict{HeldByRun, true, false, engine.Held, engine.Updating}},
	} {
		t.Run(name, func(t *testing.T) {
			s := View{Run: self, Dead: []string{"r1"}}.JudgeFacts(c.facts)
			got := verdict{s.Kind, s.IsUnavailable(), s.MayAdopt(), s.Exclusion(), s.State()}
			if got != c.verdict {
				t.Errorf("got %+v, want %+v", got, c.verdict)
			}
		})
	}
}

// TestStandingAgrees checks that the answers about one host never contradict each other, whatever its facts.
func TestStandingAgrees(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		word := func(name string, words ...string) string { return rapid.SampledFrom(words).Draw(t, name) }
		draw := func(name string) *engine.Hold {
			if rapid.Bool().Draw(t, "no "+name) {
				return nil
			}
			h := &engine.Hold{Kind: engine.HoldKind(word("kind", "run", "maintenance")), Run: word("run", "", "r1", "r5", "r9"), Bastion: word("bastion", "", "b", "c"), Step: word("step", "", "reboot")}
			if hours := rapid.IntRange(-2, 2).Draw(t, "lasts"); hours != 0 {
				h.Expires = now.Add(time.Duration(hours) * time.Hour)
			}
			return h
		}
		f := engine.Facts{
			Host: "h", Unreachable: word("unreachable", "", "", "timeout"), HoldProblem: word("problem", "", "", "no JSON"), Hold: draw("hold"),
			Clock: now, GatheredAt: now.Add(time.Duration(rapid.IntRange(-2, 2).Draw(t, "skew")) * time.Hour),
		}
		if f.Unproven = draw("ended"); f.Unproven != nil && f.Unproven.Run == "" {
			f.Unproven.Run = "r5"
		}
		absence := kubefacts.Absence(word("absence", "", "", "not-ready", "cordoned", "leased", "in-maintenance"))
		if absence != "" || rapid.Bool().Draw(t, "is a node") {
			f.Node = &kubefacts.NodeState{Node: "n", Absence: absence, Text: string(absence)}
		}
		h := engine.Host{Name: "h", Pool: "p", Paused: rapid.Bool().Draw(t, "paused"), Maintenance: word("maintenance", "", "", "fans"), Leaving: rapid.Bool().Draw(t, "leaving")}
		view := View{Run: engine.HoldOwner{Run: "r9", Bastion: "b"}, Dead: []string{"r1"}}
		s, plain := view.Judge(h, engine.Pool{Name: "p", Paused: rapid.Bool().Draw(t, "pool paused")}, f), View{}.JudgeFacts(f)
		isReserved := h.Leaving || h.Maintenance != ""
		foreign := absence.IsForeign()
		isOnlyAbsent := s.Kind == Free && absence != "" && !foreign && !isReserved // it uses up budgets, and a run may update it
		for text, broken := range map[string]bool{
			"the host of a foreign node is adopted, or compared":    foreign && (s.MayAdopt() || s.Exclusion() == "" || s.Kind != Unreached && !s.IsHeldByOther()),
			"a host without a hold is away because of its own node": isOnlyAbsent && (s.IsAway() || s.Exclusion() != "" || !s.IsUnavailable() || s.DescribeAbsence() == ""),
			"a host is away, and available":                         s.IsAway() && !s.IsUnavailable() && s.Flag != Leaving,
			"a held host is not away":                               s.IsHeldByOther() && !s.IsAway(),
			"a host is excluded, and a run may adopt it":            s.Exclusion() != "" && s.MayAdopt(),
			"an available host is excluded":                         s.Exclusion() != "" && !s.IsUnavailable() && s.Flag != Leaving,
			"a reserved host is adopted, or compared":               isReserved && (s.MayAdopt() || s.Exclusion() != engine.InMaintenance || !s.IsAway()),
			"a host is reserved, and nothing says so":               (isReserved || s.Exclusion() == engine.Held) != (s.Reservation() != nil),
			"a leaving host uses up budgets":                        s.Flag == Leaving && s.IsUnavailable(),
			"a host in maintenance uses up no budget":               s.Flag == UnderMaintenance && !s.IsUnavailable(),
			"an unavailable host is neither excluded nor adopted":   s.IsUnavailable() && s.Exclusion() == "" && !s.MayAdopt() && !isOnlyAbsent,
			"a run adopts a host, and no run":                       s.MayAdopt() != (s.AdoptedRun() != ""),
			"an unavailable host has the state of a comparison":     !isOnlyAbsent && (s.IsUnavailable() || isReserved) != (s.State() != ""),
			"an unavailable host has no description":                !isOnlyAbsent && (s.IsUnavailable() || isReserved) != (s.Describe() != "") || !isOnlyAbsent && (s.Describe() != "") != (s.DescribeAbsence() != ""),
			"a flag has no description":                             (s.Flag != NoFlag) != (s.DescribeFlag() != ""),
			"views disagree about availability":                     !isReserved && (s.IsUnavailable() != plain.IsUnavailable() || s.IsAway() != plain.IsAway()),
			"nobody's view adopts a living run":                     plain.Kind == HeldByThisRun || plain.Kind == HeldByDeadRun,
			"a hold on another bastion is adopted before its end":   f.Hold != nil && f.Hold.Bastion == "c" && s.MayAdopt() && s.Kind != HeldByExpiredRun,
			"the hold of a person is adopted":                       f.Hold != nil && f.Hold.Kind == engine.MaintenanceHold && s.MayAdopt(),
			"a hold counts as expired by one of two clocks":         s.Kind == HeldByExpiredRun && !f.Hold.Expired(f.GatheredAt.Add(time.Hour)),
			"a paused host counts as unavailable by its flag alone": s.Flag != NoFlag && s.Kind == Free && !isReserved && absence == "" && s.IsUnavailable(),
		} {
			if broken {
				t.Errorf("%s: %+v, by %+v", text, s, f)
			}
		}
	})
}

// TestFlags: a host that is paused itself says so, also in a paused pool.
func TestFlags(t *testing.T) {
	for _, c := range []struct {
		host, pool bool
		want       string
	}{{false, false, ""}, {true, false, "the inventory pauses it"}, {false, true, "the inventory pauses pool p"}, {true, true, "the inventory pauses it"}} {
		got := View{}.Judge(engine.Host{Name: "h", Pool: "p", Paused: c.host}, engine.Pool{Name: "p", Paused: c.pool}, engine.Facts{}).DescribeFlag()
		if got != c.want {
			t.Errorf("%v, %v: %q", c.host, c.pool, got)
		}
	}
}

// TestReservations: a reserved host is described by its flag, and by a hold that it has besides; a hold is a reservation, too.
func TestReservations(t *testing.T) {
	held := engine.Facts{Host: "h", Hold: &engine.Hold{Kind: engine.MaintenanceHold, Holder: "ann@b", Reason: "fans"}}
	rebooted := engine.Facts{Host: "h", BootID: "b2", Hold: &engine.Hold{Kind: engine.MaintenanceHold, Holder: "ann@b", Boot: "b1"}}
	silent := engine.Facts{Host: "h", Unreachable: "no route", Silent: true, LastHold: &engine.LastHold{Hold: *held.Hold, Seen: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}}
	impostor := engine.Facts{Host: "h", Unreachable: "another host key", LastHold: silent.LastHold}
	off := engine.Facts{Host: "h", Unreachable: "no route", LastHold: &engine.LastHold{Hold: *held.Hold, Seen: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Power: "Off"}}
	for _, c := range []struct {
		host  engine.Host
		facts engine.Facts
		kind  engine.ReservationKind
		says  []string
	}{
		{engine.Host{Maintenance: "DIMM"}, engine.Facts{Unreachable: "no route"}, engine.FlaggedHost, []string{"maintenance in the inventory: DIMM"}},
		{engine.Host{Maintenance: "DIMM"}, held, engine.FlaggedHost, []string{"maintenance in the inventory: DIMM", "ann@b"}},
		{engine.Host{Leaving: true, Maintenance: "DIMM", Paused: true}, engine.Facts{}, engine.LeavingHost, []string{"leaving"}},
		{engine.Host{Paused: true}, held, engine.HeldHost, []string{"ann@b", "fans"}},
		{engine.Host{}, off, engine.HeldHost, []string{"ann@b", "fans", "it does not answer, and was last seen 2026-03-01 12:00 UTC; its power is Off"}},
		{engine.Host{}, silent, engine.HeldHost, []string{"ann@b", "it does not answer, and was last seen 2026-03-01 12:00 UTC"}},
		{engine.Host{}, impostor, engine.HeldHost, []string{"ann@b", "it cannot be reached (another host key), and was last seen 2026-03-01 12:00 UTC"}},
		{engine.Host{}, rebooted, engine.HeldHost, []string{"ann@b", "the host has rebooted since"}},
		{engine.Host{Paused: true}, engine.Facts{}, "", nil},
		{engine.Host{}, engine.Facts{Unreachable: "no route"}, "", nil},
	} {
		r := View{}.Judge(c.host, engine.Pool{}, c.facts).Reservation()
		if r == nil {
			r = &engine.Reservation{}
		}
		for _, s := range c.says {
			if !strings.Contains(r.Reason, s) {
				t.Errorf("%+v: %q", c.host, r.Reason)
			}
		}
		if r.Kind != c.kind || strings.Contains(r.Reason, "no route") {
			t.Errorf("%+v: %+v", c.host, r)
		}
	}
}

// TestWithoutLeaving: the inventory that is left keeps the order, and the original stays as it is.
func TestWithoutLeaving(t *testing.T) {
	inv := engine.Inventory{Hosts: []engine.Host{{Name: "a"}, {Name: "b", Leaving: true}, {Name: "c"}}}
	rest, leaving := WithoutLeaving(inv)
	if len(rest.Hosts) != 2 || rest.Hosts[1].Name != "c" || len(leaving) != 1 || leaving[0].Name != "b" || len(inv.Hosts) != 3 || inv.Hosts[1].Name != "b" {
		t.Errorf("%+v, %+v, %+v", rest, leaving, inv)
	}
}

// TestRecords: a host rejects an OS from which it was rolled back, unless it runs it; the record of a roll-out from the future is not
// believed.
func TestRecords(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	runs := func(digest string) []engine.Deployment { return []engine.Deployment{{Digest: digest, Booted: true}} }
	f := engine.Facts{GatheredAt: now, Rejected: []string{"v2"}, Deployments: runs("v1")}
	s := View{}.JudgeFacts(f)
	if !s.Rejects("v2") || s.Rejects("v1") || s.Rejects("v3") || s.Rejects("") {
		t.Errorf("%+v", s)
	}
	f.Deployments = runs("v2")
	if (View{}).JudgeFacts(f).Rejects("v2") {
		t.Error("a host rejects the OS that it runs")
	}
	for run, believed := range map[string]bool{runAt(now.Add(-time.Hour)): true, runAt(now.Add(23 * time.Hour)): true, runAt(now.Add(25 * time.Hour)): false} {
		f.Rollout = &engine.Rollout{Run: run}
		s := View{}.JudgeFacts(f)
		if believed != (s.Rollout != nil) || believed == strings.Contains(s.RolloutProblem, "would begin in the future") {
			t.Errorf("run %s: %+v", run, s)
		}
	}
}

func runAt(began time.Time) string { return engine.NewRunID(began, make([]byte, engine.RunIDBytes)) }
