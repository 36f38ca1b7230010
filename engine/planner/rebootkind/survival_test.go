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
		"another service survives too": {SurvivalInput{Changes: []engine.Change{bringsOS}, CannotSpare: true, Facts: engine.Facts{Survivors: []engine.Survivor{{Unit: member, Survives: true}, {Unit: "x.service", Survives: true}}}}, engine.RestartsAfter},
	} {
		in := c.in
		in.Member = member
		if in.Kind == "" {
			in.Kind = engine.SoftReboot
		}
		if in.Facts.Survivors == nil {
			in.Facts = survivingFacts(false)
		}
		got, units := DecideSurvival(in)
		if got != c.want || (len(units) > 0) != (got != engine.StopsAtReboot) {
			t.Errorf("%s: %q, %v, want %q", name, got, units, c.want)
		}
	}
}

// TestSurvivalLaws checks, for any facts and changes: a member that keeps the old OS is alone, cannot be spared, and gets
// an OS, so that later runs see the difference. Nothing runs on in a reboot of the kernel.
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
		outdated := false
		for _, unit := range []string{member, "x.service"} {
			if rapid.Bool().Draw(t, "has "+unit) {
				s := engine.Survivor{Unit: unit, Survives: rapid.Bool().Draw(t, "survives"), Outdated: rapid.Bool().Draw(t, "outdated")}
				in.Facts.Survivors, outdated = append(in.Facts.Survivors, s), outdated || s.Outdated
			}
		}
		got, units := DecideSurvival(in)
		hasOS := slices.ContainsFunc(in.Changes, func(c engine.Change) bool { return c.RebootClass == rules.OSImageClass })
		switch {
		case in.Kind != engine.SoftReboot && got != engine.StopsAtReboot:
			t.Errorf("a %s reboot: %q", in.Kind, got)
		case got == engine.KeepsOldOS && (!in.CannotSpare || !hasOS || !slices.Equal(units, []string{member})):
			t.Errorf("%+v keeps the old OS: %v", in, units)
		case got == engine.StaysAsItIs && (outdated || hasOS):
			t.Errorf("%+v is unaffected", in)
		}
	})
}
