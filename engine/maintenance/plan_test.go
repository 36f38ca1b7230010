package maintenance_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/maintenance"
	"holdfast/engine/resource"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// ann is the person of all requests.
const ann, here = "ann@bastion", "b1"

func heldBy(kind engine.HoldKind, holder, bastion string, change ...func(*engine.Hold)) maintenance.Observed {
	h := &engine.Hold{Schema: engine.HoldSchema, Kind: kind, Holder: holder, Bastion: bastion, Run: "r1", Reason: "fans", Ticket: "OPS-1", Expires: now.Add(time.Hour)}
	for _, c := range change {
		c(h)
	}
	return maintenance.Observed{Facts: engine.Facts{Host: "w-1", Hold: h}, Text: "the hold of " + holder}
}

func holdsOf(seen maintenance.Observed) maintenance.Observation {
	return maintenance.Observation{Holds: map[string]maintenance.Observed{"w-1": seen}}
}

func stepOf(h engine.HostMaintenance) string {
	var names []string
	for _, s := range h.Steps {
		if s.On != h.Host || s.Timeout <= 0 {
			return "a step without host or timeout"
		}
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

// TestPlans checks which holds people may extend and end, with and without --force, and the message of each case.
func TestPlans(t *testing.T) {
	t.Parallel()
	mine, bobs := heldBy(engine.MaintenanceHold, ann, here), heldBy(engine.MaintenanceHold, "bob@bastion", here)
	elsewhere, aRun := heldBy(engine.MaintenanceHold, ann, "b2"), heldBy(engine.RunHold, ann, here, func(h *engine.Hold) { h.FailedUnits = []string{} })
	endless := heldBy(engine.MaintenanceHold, ann, here, func(h *engine.Hold) { h.Expires = time.Time{} })
	garbled := maintenance.Observed{Facts: engine.Facts{Host: "w-1", HoldProblem: "not JSON"}, Text: "what is this"}
	down := maintenance.Observed{Facts: engine.Facts{Host: "w-1", Unreachable: "unreachable: no route"}}
	free := maintenance.Observed{Facts: engine.Facts{Host: "w-1"}}
	unproven := maintenance.Observed{Facts: engine.Facts{Host: "w-1", Unproven: aRun.Facts.Hold}}
	extend, release := engine.ExtendHolds, engine.ReleaseHosts
	for name, c := range map[string]struct {
		action engine.MaintenanceAction
		seen   maintenance.Observed
		force  bool
		accept bool
		step   string // "": none
		says   string // part of the message, or of the failure
		kind   engine.FailureKind
	}{
		"extend mine":                  {extend, mine, false, false, "extend hold", "extended", ""},
		"extend that of bob":           {extend, bobs, false, false, "", "that is not your hold", engine.HeldFailure},
		"extend that of bob by force":  {extend, bobs, true, false, "extend hold", "extended", ""},
		"extend mine from elsewhere":   {extend, elsewhere, false, false, "", "that is not your hold", engine.HeldFailure},
		"extend one without an end":    {extend, endless, false, false, "extend hold", "has no end, and is renewed", ""},
		"extend that of a run":         {extend, aRun, true, false, "", "that is not your hold", engine.HeldFailure},
		"extend an unreadable one":     {extend, garbled, true, false, "", "not JSON", engine.HeldFailure},
		"extend none":                  {extend, free, true, false, "", "not held, so there is nothing to extend", engine.HeldFailure},
		"extend on a host that is off": {extend, down, true, false, "", "unreachable: no route", engine.UnreachableFailure},

		"release mine":                             {release, mine, false, false, "end hold", "released", ""},
		"release that of bob":                      {release, bobs, false, false, "", "--force", engine.HeldFailure},
		"release that of bob by force":             {release, bobs, true, false, "end hold", "released", ""},
		"release that of a run":                    {release, aRun, false, false, "", "that run, or the next, ends it", engine.HeldFailure},
		"release that of a run by force":           {release, aRun, true, false, "end hold", "only when its units are as they were", ""},
		"release that of a run, and accept":        {release, aRun, true, true, "end hold", "released", ""},
		"release an unreadable one":                {release, garbled, false, false, "", `it says "what is this"; --force ends it`, engine.HeldFailure},
		"release an unreadable one by force":       {release, garbled, true, false, "end hold", "released", ""},
		"release none":                             {release, free, false, false, "", "not held", ""},
		"release none, and accept":                 {release, unproven, false, true, "accept units", "its units are accepted", ""},
		"release one that is not proven":           {release, unproven, true, false, "", "not held", ""},
		"release on a host that is off":            {release, down, true, true, "", "unreachable: no route", engine.UnreachableFailure},
		"release my maintenance of an earlier run": {release, mine, false, true, "end hold", "released", ""},
	} {
		r := maintenance.Request{Action: c.action, Hosts: []string{"w-1"}, Holder: ann, Bastion: here, For: engine.Duration(2 * time.Hour), Force: c.force, AcceptUnits: c.accept, Reason: "DIMM"}
		p := maintenance.NewPlan(r, holdsOf(c.seen), now)
		h := p.Hosts[0]
		said, kind := h.Message, engine.FailureKind("")
		if h.Failure != nil {
			said, kind = h.Failure.Cause, h.Failure.Kind
		}
		if stepOf(h) != c.step || !strings.Contains(said, c.says) || kind != c.kind {
			t.Errorf("%s: step %q, %q, kind %q", name, stepOf(h), said, kind)
		}
		if len(h.Steps) == 0 {
			continue
		}
		lasts := r.For
		if h := c.seen.Facts.Hold; h != nil && h.Expires.IsZero() {
			lasts = 0 // a hold without an end keeps none
		}
		switch do := h.Steps[0].Do; {
		case do.ExtendHold != nil && (do.ExtendHold.Hold.Reason != "DIMM" || do.ExtendHold.Hold.Ticket != "OPS-1" || do.ExtendHold.For != lasts || do.ExtendHold.Hold.Holder != c.seen.Facts.Hold.Holder):
			t.Errorf("%s: %+v", name, do.ExtendHold)
		case do.EndHold != nil && (do.EndHold.Digest != resource.Digest([]byte(c.seen.Text)) || do.EndHold.AcceptUnits != c.accept || h.Found == ""):
			t.Errorf("%s: %+v, found %q", name, do.EndHold, h.Found)
		}
		if c.seen.Facts.Hold != nil && c.seen.Facts.Hold.Reason != "fans" {
			t.Errorf("%s: the facts have changed", name)
		}
	}
}

// TestHolds: a person holds every host that they name, after a look at the whole site.
func TestHolds(t *testing.T) {
	t.Parallel()
	r := maintenance.Request{Action: engine.HoldHosts, Hosts: []string{"w-2", "w-1"}, Reason: "fans", Ticket: "OPS-1", For: engine.Duration(time.Hour)}
	p := maintenance.NewPlan(r, maintenance.Observation{}, now)
	var hosts []string
	for _, h := range p.Hosts {
		hosts = append(hosts, h.Host)
		take := h.Steps[0].Do.TakeHold
		if stepOf(h) != "hold" || take == nil || take.Kind != engine.MaintenanceHold || take.Reason != "fans" || take.Ticket != "OPS-1" || take.For != r.For || h.Message != "held" {
			t.Errorf("%+v", h)
		}
	}
	if !slices.Equal(hosts, r.Hosts) || !r.NeedsSite() || p.Action != engine.HoldHosts {
		t.Errorf("%+v", p)
	}
}

// TestNobodyTouchesAStrangersHold: without force, a request changes only holds of its own person, in every state of a host.
func TestNobodyTouchesAStrangersHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := func(name string, words ...string) string { return rapid.SampledFrom(words).Draw(t, name) }
		seen := maintenance.Observed{Facts: engine.Facts{Host: "w-1", Unreachable: word("off", "", "", "timeout"), HoldProblem: word("problem", "", "", "not JSON"), Clock: now}, Text: "text"}
		if rapid.Bool().Draw(t, "held") {
			seen.Facts.Hold = &engine.Hold{Kind: engine.HoldKind(word("kind", "run", "maintenance")), Holder: word("holder", ann, "bob@bastion"), Bastion: word("bastion", here, "b2", ""), Run: word("run", "", "r1")}
			if rapid.Bool().Draw(t, "expires") {
				seen.Facts.Hold.Expires = now.Add(time.Duration(rapid.IntRange(-2, 2).Draw(t, "hours")) * time.Hour)
			}
		}
		r := maintenance.Request{
			Action: engine.MaintenanceAction(word("action", "extend", "release")), Hosts: []string{"w-1"}, Holder: ann, Bastion: here,
			For: engine.Duration(time.Hour), AcceptUnits: rapid.Bool().Draw(t, "accept"),
		}
		h := maintenance.NewPlan(r, holdsOf(seen), now).Hosts[0]
		f := seen.Facts
		isMine := f.Hold != nil && f.HoldProblem == "" && f.Hold.IsOfPerson(ann, here)
		acceptsFree := f.Hold == nil && f.HoldProblem == "" && r.AcceptUnits && r.Action == engine.ReleaseHosts
		if len(h.Steps) > 0 && (!f.Reached() || !isMine && !acceptsFree) {
			t.Errorf("%+v, on %+v", h, f)
		}
		if (h.Failure != nil) == (h.Message != "") || h.Failure != nil && len(h.Steps) > 0 {
			t.Errorf("%+v, on %+v", h, f)
		}
	})
}

// TestExtensionByTheClockOfTheHost: a host whose clock is ahead ends its holds by that clock.
func TestExtensionByTheClockOfTheHost(t *testing.T) {
	hold := engine.Hold{Kind: engine.MaintenanceHold, Holder: ann, Bastion: here, Run: "m-1", Reason: "fans"}
	for _, c := range []struct {
		ahead, left time.Duration
		step        string
	}{
		{24 * time.Hour, time.Hour, "extend hold"},
		{24 * time.Hour, 3 * time.Hour, ""},
		{0, time.Hour, "extend hold"},
		{-24 * time.Hour, time.Hour, "extend hold"},
		{-24 * time.Hour, 27 * time.Hour, ""},
	} {
		h := hold
		h.Expires = now.Add(c.ahead + c.left)
		seen := maintenance.Observed{Facts: engine.Facts{Host: "w-1", Hold: &h, Clock: now.Add(c.ahead), GatheredAt: now}, Text: "{}"}
		r := maintenance.Request{Action: engine.ExtendHolds, Hosts: []string{"w-1"}, Holder: ann, Bastion: here, For: engine.Duration(2 * time.Hour)}
		if m := maintenance.NewPlan(r, holdsOf(seen), now).Hosts[0]; stepOf(m) != c.step {
			t.Errorf("%+v: %+v", c, m)
		}
	}
}
