package rebootkind

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/rules"
)

const member = "etcd.service"

func survivingFacts(outdated bool) engine.Facts {
	return engine.Facts{Survivors: []engine.Survivor{{Unit: member, Survives: true, Outdated: outdated}}}
}

// TestDecideSurvival names the fate of a member during each kind of work.
func TestDecideSurvival(t *testing.T) {
	bringsOS, file := change(rules.OSImageClass), change("other files")
	ownUnit, otherUnit, account := change("other units"), change("other units"), change("accounts")
	ownUnit.Kind, ownUnit.Resource = engine.UnitKind, "unit etcd.service"
	otherUnit.Kind, otherUnit.Resource = engine.UnitKind, "unit kubelet.service"
	account.Kind, account.Resource = engine.UserKind, "user core"
	restart := func(unit string) engine.Change {
		return engine.Change{Kind: engine.FileKind, Resource: "file /a", Actions: []engine.Action{{Type: engine.RestartUnit, Unit: unit}}}
	}
	for name, c := range map[string]struct {
		in   SurvivalInput
		want engine.Survival
	}{
		"new OS":                       {SurvivalInput{Changes: []engine.Change{bringsOS}}, engine.RestartsAfter},
		"new OS, cannot be spared":     {SurvivalInput{Changes: []engine.Change{bringsOS, file}, CannotSpare: true}, engine.KeepsOldOS},
		"a file":                       {SurvivalInput{Changes: []engine.Change{file}}, engine.RestartsAfter},
		"a file, cannot be spared":     {SurvivalInput{Changes: []engine.Change{file}, CannotSpare: true}, engine.RestartsAfter},
		"its unit":                     {SurvivalInput{Changes: []engine.Change{ownUnit}}, engine.RestartsAfter},
		"another unit":                 {SurvivalInput{Changes: []engine.Change{otherUnit, account}, CannotSpare: true}, engine.StaysAsItIs},
		"another unit, and its own":    {SurvivalInput{Changes: []engine.Change{otherUnit, ownUnit}}, engine.RestartsAfter},
		"a rule that restarts it":      {SurvivalInput{Changes: []engine.Change{otherUnit, restart(member)}}, engine.RestartsAfter},
		"a rule that restarts another": {SurvivalInput{Changes: []engine.Change{otherUnit, restart("chronyd.service")}}, engine.StaysAsItIs},
		"outdated":                     {SurvivalInput{Changes: []engine.Change{otherUnit}, Facts: survivingFacts(true)}, engine.RestartsAfter},
		"full reboot":                  {SurvivalInput{Changes: []engine.Change{bringsOS}, Kind: engine.FullReboot}, engine.StopsAtReboot},
		"kexec":                        {SurvivalInput{Changes: []engine.Change{bringsOS}, Kind: engine.KexecReboot}, engine.StopsAtReboot},
		"does not survive":             {SurvivalInput{Changes: []engine.Change{bringsOS}, Facts: engine.Facts{Survivors: []engine.Survivor{{Unit: member}}}}, engine.StopsAtReboot},
		"another service survives too": {SurvivalInput{Changes: []engine.Change{bringsOS}, CannotSpare: true, Facts: engine.Facts{Survivors: []engine.Survivor{{Unit: member, Survives: true}, {Unit: "x.service", Survives: true}}}}, engine.KeepsOldOS},
	} {
		in := c.in
		in.Member = member
		if in.Kind == "" {
			in.Kind = engine.SoftReboot
		}
		if in.Facts.Survivors == nil {
			in.Facts = survivingFacts(false)
		}
		got := DecideSurvival(in)
		if got.Member != c.want || (len(got.Runs) > 0) != (c.want != engine.StopsAtReboot) || slices.Contains(got.Restarts, member) != (c.want == engine.RestartsAfter) {
			t.Errorf("%s: %+v, want %q", name, got, c.want)
		}
	}
}

// TestKeptServices: each service has a fate of its own. A host without a member, or whose member stops, may have services
// that run on.
func TestKeptServices(t *testing.T) {
	unit := func(name string) engine.Change {
		c := change("other units")
		c.Kind, c.Resource = engine.UnitKind, "unit "+name
		return c
	}
	both := []engine.Survivor{{Unit: member, Survives: true}, {Unit: "app.service", Survives: true}}
	for name, c := range map[string]struct {
		in   SurvivalInput
		want Survivals
	}{
		"only app":              {SurvivalInput{Changes: []engine.Change{change(rules.OSImageClass)}, Facts: engine.Facts{Survivors: both[1:]}}, Survivals{engine.StopsAtReboot, []string{"app.service"}, []string{"app.service"}}},
		"only app, undisturbed": {SurvivalInput{Changes: []engine.Change{unit("x.service")}, Facts: engine.Facts{Survivors: both[1:]}}, Survivals{engine.StopsAtReboot, []string{"app.service"}, nil}},
		"the unit of app":       {SurvivalInput{Changes: []engine.Change{unit("app.service")}, Facts: engine.Facts{Survivors: both}, CannotSpare: true}, Survivals{engine.StaysAsItIs, []string{member, "app.service"}, []string{"app.service"}}},
		"new OS":                {SurvivalInput{Changes: []engine.Change{change(rules.OSImageClass)}, Facts: engine.Facts{Survivors: both}, CannotSpare: true}, Survivals{engine.KeepsOldOS, []string{member, "app.service"}, []string{"app.service"}}},
		"app is outdated":       {SurvivalInput{Changes: []engine.Change{unit("x.service")}, Facts: engine.Facts{Survivors: []engine.Survivor{both[0], {Unit: "app.service", Survives: true, Outdated: true}}}}, Survivals{engine.StaysAsItIs, []string{member, "app.service"}, []string{"app.service"}}},
		"app does not survive":  {SurvivalInput{Changes: []engine.Change{unit("x.service")}, Facts: engine.Facts{Survivors: []engine.Survivor{both[0], {Unit: "app.service"}}}}, Survivals{engine.StaysAsItIs, []string{member}, nil}},
	} {
		c.in.Kind, c.in.Member = engine.SoftReboot, member
		if got := DecideSurvival(c.in); got.Member != c.want.Member || !slices.Equal(got.Runs, c.want.Runs) || !slices.Equal(got.Restarts, c.want.Restarts) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestSurvivalLaws checks, for any facts and changes: a member that keeps the old OS cannot be spared, and gets an OS, so
// that later runs see the difference. Every other service that has, or will have, another deployment than the host
// restarts. Nothing runs on in a reboot of the kernel.
func TestSurvivalLaws(t *testing.T) {
	classes := []string{rules.OSImageClass, "other files", "accounts", "other units"}
	rapid.Check(t, func(t *rapid.T) {
		in := SurvivalInput{
			Kind:   rapid.SampledFrom([]engine.RebootKind{engine.SoftReboot, engine.KexecReboot, engine.FullReboot}).Draw(t, "kind"),
			Member: member, CannotSpare: rapid.Bool().Draw(t, "cannot spare"),
		}
		for _, c := range rapid.SliceOfN(rapid.SampledFrom(classes), 1, 3).Draw(t, "classes") {
			in.Changes = append(in.Changes, change(c))
		}
		for _, unit := range []string{member, "x.service"} {
			if rapid.Bool().Draw(t, "has "+unit) {
				in.Facts.Survivors = append(in.Facts.Survivors, engine.Survivor{Unit: unit, Survives: rapid.Bool().Draw(t, "survives"), Outdated: rapid.Bool().Draw(t, "outdated")})
			}
		}
		got := DecideSurvival(in)
		hasOS := slices.ContainsFunc(in.Changes, func(c engine.Change) bool { return c.RebootClass == rules.OSImageClass })
		if in.Kind != engine.SoftReboot && (got.Member != engine.StopsAtReboot || len(got.Runs) > 0) {
			t.Errorf("a %s reboot: %+v", in.Kind, got)
		}
		if got.Member == engine.KeepsOldOS && (!in.CannotSpare || !hasOS || !slices.Contains(got.Runs, member)) {
			t.Errorf("%+v keeps the old OS: %+v", in, got)
		}
		for _, s := range in.Facts.Survivors {
			restarts := slices.Contains(got.Restarts, s.Unit)
			if slices.Contains(got.Runs, s.Unit) != (s.Survives && in.Kind == engine.SoftReboot) || restarts && !slices.Contains(got.Runs, s.Unit) {
				t.Errorf("%+v: %+v", s, got)
			}
			if slices.Contains(got.Runs, s.Unit) && (s.Outdated || hasOS) && !restarts && !(s.Unit == member && got.Member == engine.KeepsOldOS) {
				t.Errorf("%+v does not restart: %+v", s, got)
			}
		}
	})
}
