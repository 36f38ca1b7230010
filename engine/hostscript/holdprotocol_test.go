package hostscript_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
	"holdfast/engine/resource"
)

// holdModels returns the models within the bound: with one and two bastions, and with holds of people that have an end and have none.
func holdModels(ticks int8) map[string]model {
	return map[string]model{
		"one bastion":  {ticks: ticks, lasts: 1, oneBastion: true, personLasts: never},
		"two bastions": {ticks: ticks, lasts: 1, personLasts: 1},
		"a late clock": {ticks: ticks, lasts: 1, personLasts: 1, behind: true},
	}
}

// TestHoldProtocol: in each order of the steps, no two owners act on a host at once, and nobody acts on the host of another.
func TestHoldProtocol(t *testing.T) {
	for name, m := range holdModels(int8(longtest.Choose(2, 4, 5))) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := m.searchStates()
			if x.broken != "" {
				t.Error(x.broken)
			}
			if len(x.from) < 10000 {
				t.Errorf("only %d states", len(x.from))
			}
			t.Logf("%d states, %d scripts", len(x.from), len(x.scripts))
		})
	}
}

// TestHoldProtocolNeedsEachRule takes each rule out of the protocol, and expects steps that break it. Two rules back each other up: the
// host refuses the adoption of a hold of a person, too.
func TestHoldProtocolNeedsEachRule(t *testing.T) {
	for name, c := range map[string]struct {
		without lacking
		broken  string // "": another rule prevents it
	}{
		"a hold is never replaced":             {lacking{exclusive: true}, "takes the hold of"},
		"a renewed hold is not adopted":        {lacking{renewal: true}, "which lives or may live"},
		"runs adopt no hold of a person":       {lacking{kindOfRun: true}, ""},
		"hosts adopt no hold of a person":      {lacking{kindOnHost: true}, ""},
		"nobody adopts the hold of a person":   {lacking{kindOfRun: true, kindOnHost: true}, "takes the hold of a person"},
		"both clocks tell that a hold is over": {lacking{bothClocks: true}, "which lives or may live"},
		"a hold lasts from the later clock":    {lacking{laterClock: true}, "which lives or may live"},
		"only a hold that is over is adopted":  {lacking{expiry: true}, "which lives or may live"},
		"a dead run is of this bastion":        {lacking{bastion: true}, "which lives or may live"},
		"a check under the lock":               {lacking{secondCheck: true}, "acts on the host of"},
		"scripts wait for the lock":            {lacking{lock: true}, "acts"},
		"a run releases its own hold":          {lacking{ownRelease: true}, "releases the host of"},
		"a run fails under its own hold":       {lacking{ownFailure: true}, "writes its failure into the hold of"},
		"a person ends the hold that was read": {lacking{digest: true}, "a hold that nobody has read"},
		"a hold survives a power cut":          {lacking{persistence: true}, "takes the hold of"},
	} {
		t.Run(name, func(t *testing.T) {
			longtest.SkipOthers(t, name, "a hold is never replaced", "both clocks tell that a hold is over", "a check under the lock", "a run releases its own hold", "a hold survives a power cut")
			t.Parallel()
			m := holdModels(2)["two bastions"]
			m.lacking = c.without
			m.behind = c.without.laterClock
			if found := m.searchStates().broken; !strings.Contains(found, c.broken) || (found == "") != (c.broken == "") {
				t.Errorf("want %q, and found %q", c.broken, found)
			} else {
				t.Log(found)
			}
		})
	}
}

// TestModelFollowsScripts runs the scripts of the product with sh, and compares their effects with those in the model.
func TestModelFollowsScripts(t *testing.T) {
	m := holdModels(2)["two bastions"]
	kinds := map[string][]script{}
	scripts := m.searchStates().scripts
	maps.Copy(scripts, holdModels(2)["a late clock"].searchStates().scripts)
	for c := range scripts {
		kind := fmt.Sprint(c.name, c.fits, c.before.owner == nobody, c.before.owner == c.owner, c.before.owner == person, c.adopt == nobody, c.before.failed, c.clock < c.sent)
		kinds[kind] = append(kinds[kind], c)
	}
	most := longtest.Choose(1, 1, 1000)
	for i, kind := range slices.Sorted(maps.Keys(kinds)) {
		list := kinds[kind]
		if !longtest.Slow() && i%11 != 0 {
			continue
		}
		slices.SortFunc(list, func(a, b script) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		for _, c := range list[:min(most, len(list))] {
			m.compareScript(t, c)
		}
	}
}

func (m model) compareScript(t *testing.T, c script) {
	t.Helper()
	b := newBox(t)
	b.tool("date", "#!/bin/sh\nif [ \"$*\" = '-u +%s' ]; then cat \"$BOX/now\"; else PATH=${PATH#*:} exec date \"$@\"; fi\n")
	m.prepareHold(b, c.seen)
	seen, _ := os.ReadFile(filepath.Join(b.root, engine.HoldPath))
	check(t, os.RemoveAll(filepath.Join(b.root, engine.StateDir)))
	m.prepareHold(b, c.before)
	b.setClock(c.clock)
	owner := engine.HoldOwner{Run: c.owner.String(), Bastion: m.bastionOf(c.owner)}
	var text string
	switch c.name {
	case "take":
		h := m.makeHold(modelHold{owner: c.owner, expires: never})
		take := engine.TakeHold{}
		if c.lasts != never {
			take.For = engine.Duration(tickTime(c.lasts).Sub(modelEpoch))
		}
		if c.adopt != nobody {
			take.Adopt, take.Renewed = c.adopt.String(), tickTime(c.renewed)
		}
		text = hostscript.TakeHoldScript(*h, take, tickTime(c.sent))
	case "release":
		text = hostscript.ReleaseScript(owner, engine.Release{})
	case "fail":
		text = hostscript.FailHoldScript(owner, "it failed", "reboot", "")
	case "end":
		text = hostscript.EndHoldScript(resource.Digest(seen), false)
	}
	_, stderr, code := b.run(text)
	got, want := b.hold(), m.makeHold(c.after)
	same := (got == nil) == (want == nil)
	if same && got != nil {
		same = got.Run == want.Run && got.Bastion == want.Bastion && got.Kind == want.Kind && got.Step == want.Step && got.Renewed.Equal(want.Renewed) && got.Expires.Equal(want.Expires)
	}
	if (code == 0) != c.fits || code != 0 && code != hostscript.ScriptHeld || !same {
		t.Errorf("%+v: sh ends with %d and has %+v; the model has %+v\n%s", c, code, got, want, stderr)
	}
}

// TestLateHostClock: if the clock of the host is behind when its hold is taken, extended or released, and is set right afterwards, the hold
// has not expired, and the time of its update is not in the past.
func TestLateHostClock(t *testing.T) {
	b := newBox(t)
	b.tool("date", "#!/bin/sh\nif [ \"$*\" = '-u +%s' ]; then cat \"$BOX/now\"; else PATH=${PATH#*:} exec date \"$@\"; fi\n")
	for _, x := range []struct{ host, sent, later int8 }{{0, 18, 18}, {18, 0, 18}, {6, 6, 6}} {
		b.setClock(x.host)
		sent := tickTime(x.sent)
		h := readHold(t, b.mustRun(hostscript.TakeHoldScript(runHold("r1"), engine.TakeHold{For: hour}, sent)))
		if !h.Expires.Equal(tickTime(x.later+6)) || !h.Renewed.Equal(tickTime(x.host)) {
			t.Errorf("%+v: %+v", x, h)
		}
		b.mustRun(hostscript.ReleaseScriptAt(ownerOf("r1"), engine.Release{Updated: true}, sent))
		if text, err := os.ReadFile(b.root + hostscript.UpdatedPath); err != nil || strings.TrimSpace(string(text)) != tickTime(x.later).Format(time.RFC3339) {
			t.Errorf("%+v: %s, %v", x, text, err)
		}
	}
}

func (b *box) setClock(tick int8) {
	check(b.t, os.WriteFile(filepath.Join(b.root, "now"), fmt.Appendln(nil, tickTime(tick).Unix()), 0o644))
}

// prepareHold lets scripts of the product write a hold.
func (m model) prepareHold(b *box, h modelHold) {
	check(b.t, os.MkdirAll(filepath.Join(b.root, engine.StateDir), 0o755))
	if h.owner == nobody {
		return
	}
	b.setClock(h.renewed)
	lasts := time.Duration(0)
	if h.expires != never {
		lasts = tickTime(h.expires).Sub(tickTime(h.renewed))
	}
	b.mustRun(hostscript.HoldScript(*m.makeHold(modelHold{owner: h.owner, expires: never}), engine.Duration(lasts), "", nil))
	if h.failed {
		owner := engine.HoldOwner{Run: h.owner.String(), Bastion: m.bastionOf(h.owner)}
		b.mustRun(hostscript.FailHoldScript(owner, "it failed", "reboot", ""))
	}
}
