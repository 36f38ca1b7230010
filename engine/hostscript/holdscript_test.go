package hostscript_test

import (
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

const hour = engine.Duration(time.Hour)

func runHold(run string) engine.Hold {
	return engine.Hold{Kind: engine.RunHold, Holder: "ann@bastion", Run: run, Reason: "os 1.0 → 2.0"}
}

func TestHoldIsTakenOnceAndReleasedByItsRun(t *testing.T) {
	b := newBox(t)
	start := time.Now().UTC().Truncate(time.Second)
	got := readHold(t, b.mustRun(hostscript.HoldScript(runHold("r1"), hour, "", nil)))
	if got.Run != "r1" || got.Kind != engine.RunHold || got.Reason != "os 1.0 → 2.0" || got.Acquired.Before(start) {
		t.Fatalf("hold is %+v", got)
	}
	if lasts := got.Expires.Sub(got.Renewed); lasts != time.Hour {
		t.Errorf("lasts %s", lasts)
	}
	if m := b.motd(); !strings.Contains(m, `held by ann@bastion for "os 1.0 → 2.0" since 2`) || strings.Count(m, "\n") != 1 {
		t.Errorf("motd: %q", m)
	}
	for path, mode := range map[string]os.FileMode{engine.StateDir: 0o700 | os.ModeDir, engine.HoldPath: 0o600, engine.StateDir + ".motd": 0o644} {
		if info, err := os.Stat(b.root + path); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v %v, want %v", path, info.Mode(), err, mode)
		}
	}

	for _, script := range []string{
		hostscript.HoldScript(runHold("r2"), hour, "", nil), hostscript.HoldScript(runHold("r2"), hour, "r3", nil),
		hostscript.HoldScript(runHold(""), hour, "", nil), hostscript.ReleaseScript(ownerOf("r2"), engine.Release{}), hostscript.ReleaseScript(ownerOf(""), engine.Release{}),
		hostscript.FailHoldScript(ownerOf("r2"), "x", "y", ""), hostscript.CheckHoldSnippet(ownerOf("r2")).String(), hostscript.CheckFreeSnippet(ownerOf("r2"), engine.HoldOwner{}).String(),
	} {
		if other := readHold(t, b.mustBeRefused(script)); other.Run != "r1" {
			t.Errorf("printed %+v", other)
		}
	}
	b.mustRun(hostscript.CheckHoldSnippet(ownerOf("r1")).String())
	b.mustRun(hostscript.CheckFreeSnippet(ownerOf("r2"), ownerOf("r1")).String())

	b.mustRun(hostscript.ReleaseScript(ownerOf("r1"), engine.Release{}))
	if b.hold() != nil || b.motd() != "" {
		t.Error("something is left after release")
	}
	b.mustRun(hostscript.ReleaseScript(ownerOf("r1"), engine.Release{}))
	b.mustRun(hostscript.CheckFreeSnippet(ownerOf("r1"), engine.HoldOwner{}).String())
	b.mustBeRefused(hostscript.CheckHoldSnippet(ownerOf("r1")).String())
	b.mustBeRefused(hostscript.FailHoldScript(ownerOf("r1"), "x", "y", ""))
	b.mustRun(hostscript.HoldScript(runHold("r2"), hour, "", nil))
}

func TestHoldIsAdoptedFromTheRunThatWasNamedOnly(t *testing.T) {
	b := newBox(t)
	b.mustRun(hostscript.HoldScript(runHold("r1"), hour, "", nil))
	if h := readHold(t, b.mustRun(hostscript.HoldScript(runHold("r2"), hour, "r1", nil))); h.Run != "r2" {
		t.Errorf("hold is %+v", h)
	}
	b.mustBeRefused(hostscript.HoldScript(runHold("r3"), hour, "r1", nil))
	b.mustRun(hostscript.ReleaseScript(ownerOf("r2"), engine.Release{}))

	maintenance := runHold("m1")
	maintenance.Kind, maintenance.Ticket = engine.MaintenanceHold, "OPS-7"
	h := readHold(t, b.mustRun(hostscript.HoldScript(maintenance, 0, "", nil)))
	if !h.Expires.IsZero() || h.Ticket != "OPS-7" || !strings.Contains(b.motd(), "(OPS-7)") {
		t.Errorf("hold is %+v, motd %q", h, b.motd())
	}
	b.mustBeRefused(hostscript.HoldScript(runHold("r3"), hour, "m1", nil))
}

// TestHoldThatWasRenewedSinceIsNotAdopted checks that a run does not adopt a
// hold that was renewed after the run had gathered its facts.
func TestHoldThatWasRenewedSinceIsNotAdopted(t *testing.T) {
	b := newBox(t)
	b.mustRun(hostscript.HoldScript(runHold("r1"), hour, "", nil))
	text, err := os.ReadFile(b.root + engine.HoldPath)
	check(t, err)
	old := []byte(strings.ReplaceAll(string(text), b.hold().Renewed.Format(time.RFC3339), "2026-03-01T12:00:00Z"))
	check(t, os.WriteFile(b.root+engine.HoldPath, old, 0o600))
	seen := b.hold()
	take := hostscript.TakeHoldScript(runHold("r2"), engine.TakeHold{For: hour, Adopt: "r1", Renewed: seen.Renewed}, time.Time{})

	b.mustRun(hostscript.HoldScript(runHold("r1"), hour, "", nil))
	b.mustBeRefused(take)
	if h := b.hold(); h.Run != "r1" {
		t.Errorf("hold is %+v", h)
	}
	check(t, os.WriteFile(b.root+engine.HoldPath, old, 0o600))
	for range 2 { // the answer to the first script may have been lost
		if h := readHold(t, b.mustRun(take)); h.Run != "r2" {
			t.Errorf("hold is %+v", h)
		}
	}
}

func TestHoldIsMarkedAsFailed(t *testing.T) {
	b := newBox(t)
	first := readHold(t, b.mustRun(hostscript.HoldScript(runHold("r1"), hour, "", nil)))
	var h *engine.Hold
	for range 2 { // the second replaces the first
		h = readHold(t, b.mustRun(hostscript.FailHoldScript(ownerOf("r1"), "unit \"x\" failed\n\\ again", "wait for units", "")))
		if h.Reason != "unit \"x\" failed\n\\ again" || h.Step != "wait for units" || !h.Expires.IsZero() || !h.Acquired.Equal(first.Acquired) {
			t.Errorf("failed: %+v", h)
		}
	}
	if h = readHold(t, b.mustRun(hostscript.HoldScript(runHold("r2"), hour, "r1", nil))); h.Step != "" || h.Expires.IsZero() {
		t.Errorf("adopted: %+v", h)
	}
}

func TestTextOfAHoldIsNeverTakenForItsOwner(t *testing.T) {
	t.Parallel()
	evil := []string{
		`","run":"r2","x":"`, "line\n\"run\":\"r2\",\nrest", `$(touch "$BOX/pwned")`, "`touch $BOX/pwned`", `'; touch "$BOX/pwned"; '`,
		"\x1b]0;title\a", "\u202egnp", "%s%n\\n\\", "\"stopped_units\":[\"sshd.service\"]", "\xff\xfe", "", "\x00",
	}
	for i, text := range evil {
		if i%3 != 0 && !longtest.Slow() {
			continue
		}
		b := newBox(t)
		h := runHold("r1")
		h.Holder, h.Reason, h.Ticket = text, text, text
		script := hostscript.HoldScript(h, hour, "", nil)
		got := readHold(t, b.mustRun(script))
		if want := strings.ToValidUTF8(text, "\ufffd"); text != "\xff\xfe" && (got.Reason != want || got.Holder != want) {
			t.Errorf("%q became %q, %q", want, got.Reason, got.Holder)
		}
		b.mustBeRefused(hostscript.ReleaseScript(ownerOf("r2"), engine.Release{}))
		b.mustBeRefused(hostscript.CheckHoldSnippet(ownerOf("r2")).String())
		b.mustRun(hostscript.FailHoldScript(ownerOf("r1"), text, text, ""))
		b.mustBeRefused(hostscript.ReleaseScript(ownerOf("r2"), engine.Release{}))
		if m := b.motd(); strings.ContainsAny(m, "\x1b\a\u202e") || strings.Count(m, "\n") != 1 {
			t.Errorf("motd: %q", m)
		}
		b.mustRun(hostscript.ReleaseScript(ownerOf("r1"), engine.Release{}))
		if _, err := os.Stat(b.root + "/pwned"); err == nil {
			t.Fatalf("%q was carried out", text)
		}
		if log, _ := os.ReadFile(b.root + "/log"); strings.Contains(string(log), "sshd") {
			t.Errorf("%q reached systemctl: %s", text, log)
		}
	}
}

func TestAHoldFileThatCannotBeReadIsRespected(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "none": "none\n", "garbage": "\x00\xff{", "cut": "{\n\"schema\":1,\n\"kind\":\"run\",\n\"holder\":\"a\",\n"} {
		b := newBox(t)
		check(t, os.MkdirAll(b.root+engine.StateDir, 0o700))
		check(t, os.WriteFile(b.root+engine.HoldPath, []byte(text), 0o600))
		for _, script := range []string{
			hostscript.HoldScript(runHold("r1"), hour, "r0", nil), hostscript.ReleaseScript(ownerOf("r1"), engine.Release{}),
			hostscript.FailHoldScript(ownerOf("r1"), "", "", ""), hostscript.CheckHoldSnippet(ownerOf("r1")).String(), hostscript.CheckFreeSnippet(ownerOf("r1"), engine.HoldOwner{}).String(), hostscript.CheckFreeSnippet(engine.HoldOwner{}, engine.HoldOwner{}).String(),
		} {
			b.mustBeRefused(script)
			if got, err := os.ReadFile(b.root + engine.HoldPath); err != nil || string(got) != text {
				t.Fatalf("%s: became %q (%v)", name, got, err)
			}
		}
	}
	b := newBox(t)
	check(t, os.MkdirAll(b.root+engine.StateDir, 0o700))
	check(t, os.Symlink("/nowhere", b.root+engine.HoldPath))
	b.mustBeRefused(hostscript.HoldScript(runHold("r1"), hour, "", nil))
	b.mustBeRefused(hostscript.CheckFreeSnippet(ownerOf("r1"), engine.HoldOwner{}).String())
}

func TestRebootHelpersRestWhileAHostIsHeld(t *testing.T) {
	helpers := hostscript.RebootHelpers()
	b := newBox(t)
	b.unit(helpers[0])
	b.unit(helpers[1])
	b.softReboots("1")
	check(t, os.Remove(b.root+"/active/"+helpers[1])) // enabled, and somebody has stopped it
	h := readHold(t, b.mustRun(hostscript.HoldScript(runHold("r1"), hour, "", nil)))
	if !slices.Equal(h.StoppedUnits, helpers[:1]) || b.active(helpers[0]) {
		t.Fatalf("stopped %v", h.StoppedUnits)
	}
	for i, unit := range helpers {
		text, err := os.ReadFile(b.root + "/etc/systemd/system/" + unit + ".d/50-holdfast.conf")
		if want := "ConditionPathExists=!" + b.root + engine.HoldPath; (err == nil) != (i < 2) || i < 2 && !strings.Contains(string(text), want) {
			t.Errorf("%s: %q %v", unit, text, err)
		}
	}
	// systemd must know the condition before the helper is stopped: a timer could start it again.
	b.wantReloads("after the hold", 1)
	if log := b.log(); strings.Index(log, "daemon-reload") > strings.Index(log, "stop "+helpers[0]) {
		t.Errorf("the helper is stopped before systemd knows the condition:\n%s", log)
	}
	h = readHold(t, b.mustRun(hostscript.HoldScript(runHold("r1"), hour, "", nil)))
	b.wantReloads("after its renewal", 1)
	h2 := readHold(t, b.mustRun(hostscript.HoldScript(runHold("r2"), hour, "r1", nil)))
	h3 := readHold(t, b.mustRun(hostscript.FailHoldScript(ownerOf("r2"), "x", "y", "")))
	for _, h := range []*engine.Hold{h, h2, h3} {
		if !slices.Equal(h.StoppedUnits, helpers[:1]) {
			t.Errorf("forgot what was stopped: %+v", h)
		}
	}
	b.mustRun(hostscript.ReleaseScript(ownerOf("r2"), engine.Release{}))
	b.wantReloads("after the release", 2)
	if !b.active(helpers[0]) || b.active(helpers[1]) || b.active(helpers[2]) {
		t.Error("not exactly the helper that ran before runs again")
	}
	if left, _ := filepath.Glob(b.root + "/etc/systemd/system/*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestAHoldEndsUpdates: a timer that is stopped leaves its service at work, which reboots the host at its end. The
// daemon of rpm-ostree works on without its client. A release does not start an update again.
func TestAHoldEndsUpdates(t *testing.T) {
	for _, kind := range []engine.HoldKind{engine.RunHold, engine.MaintenanceHold} {
		b := newBox(t)
		services := []string{"bootc-fetch-apply-updates.service", "rpm-ostreed-automatic.service"}
		for i, state := range []string{"activating", "active"} {
			b.unit(services[i])
			b.unit(strings.TrimSuffix(services[i], ".service") + ".timer")
			check(t, os.WriteFile(b.root+"/active/"+services[i], []byte(state+"\n"), 0o644))
		}
		b.tool("rpm-ostree", "#!/bin/sh\nprintf 'rpm-ostree %s\\n' \"$*\" >>\"$BOX/log\"\nprintf 'State: busy\\nTransaction: upgrade \\n  Initiator: client(id:cli dbus:1.3 unit:rpm-ostreed-automatic.service uid:0)\\n'\n")
		hold := runHold("r1")
		hold.Kind = kind
		h := readHold(t, b.mustRun(hostscript.HoldScript(hold, hour, "", nil)))
		if b.active(services[0]) || b.active(services[1]) || len(h.StoppedUnits) != 2 || strings.Count(b.log(), "rpm-ostree cancel") != 1 {
			t.Errorf("%s: %q\n%s", kind, h.StoppedUnits, b.log())
		}
		b.mustRun(hostscript.ReleaseScript(ownerOf("r1"), engine.Release{}))
		if b.active(services[0]) || b.active(services[1]) {
			t.Errorf("%s: an update runs after the release:\n%s", kind, b.log())
		}
	}
}

// TestRebootHelpersStartAfterABoot: a helper that does not run when the host is held, and that a boot would have started
// without the hold, starts with the release.
func TestRebootHelpersStartAfterABoot(t *testing.T) {
	helper := hostscript.RebootHelpers()[0]
	b := newBox(t)
	b.unit(helper)
	b.softReboots("1")
	check(t, os.Remove(b.root+"/active/"+helper))
	b.mustRun(hostscript.HoldScript(runHold("r1"), hour, "", nil))
	b.softReboots("2")
	b.mustRun(hostscript.ReleaseScript(ownerOf("r1"), engine.Release{}))
	if !b.active(helper) {
		t.Error("it would have started at the boot, and does not run")
	}
}

func (b *box) softReboots(count string) {
	b.t.Helper()
	check(b.t, os.WriteFile(b.root+"/soft-reboots", []byte(count), 0o600))
}

// log returns the calls of systemctl.
func (b *box) log() string {
	text, err := os.ReadFile(b.root + "/log")
	check(b.t, err)
	return string(text)
}

func (b *box) wantReloads(when string, want int) {
	b.t.Helper()
	if got := strings.Count(b.log(), "daemon-reload"); got != want {
		b.t.Errorf("systemd has read its units %d times %s, not %d", got, when, want)
	}
}

// TestAHoldEndsStaging checks that taking a hold stops a staging on the host,
// and that a run that renews its own hold does not stop it.
func TestAHoldEndsStaging(t *testing.T) {
	b := newBox(t)
	b.tool("systemctl", strings.Replace(systemctl, "daemon-reload) ;;", "daemon-reload) ;;\nshow) [ ! -e \"$BOX/active/holdfast-stage.service\" ] || echo active ;;", 1))
	b.unit("holdfast-stage.service")
	hold := runHold("m-1")
	hold.Kind = engine.MaintenanceHold
	b.mustRun(hostscript.HoldScript(hold, hour, "", nil))
	if b.active("holdfast-stage.service") {
		t.Error("the host is held, and is still staged")
	}
	b.unit("holdfast-stage.service")
	b.mustRun(hostscript.HoldScript(hold, 2*hour, "", nil))
	if !b.active("holdfast-stage.service") {
		t.Error("holding a host for longer has ended what its holder does")
	}
}

// TestHoldThatHasEndedIsNotWrittenAgain: a note in a hold that somebody has released meanwhile holds the host for nobody.
func TestHoldThatHasEndedIsNotWrittenAgain(t *testing.T) {
	b := newBox(t)
	h := runHold("m1")
	h.Kind = engine.MaintenanceHold
	stdout, stderr, code := b.run(hostscript.TakeHoldScript(h, engine.TakeHold{For: engine.KeepEnd}, time.Time{}))
	if left := b.hold(); code != hostscript.ScriptHeld || stdout != "" || !strings.Contains(stderr, "has ended") || left != nil {
		t.Errorf("exit status %d, %q, %q, %v", code, stdout, stderr, left)
	}
}

// TestOnlyTheHoldThatWasReadIsExtended: a repeated extension works once. It changes no hold that somebody has changed since, and brings
// back none that has ended.
func TestOnlyTheHoldThatWasReadIsExtended(t *testing.T) {
	b := newBox(t)
	h := runHold("m1")
	h.Kind, h.Ticket = engine.MaintenanceHold, "OPS-7"
	read := b.mustRun(hostscript.HoldScript(h, hour, "", nil))
	extend := hostscript.TakeHoldScript(h, engine.TakeHold{For: 2 * hour, Digest: resource.Digest([]byte(read))}, time.Time{})
	extended := readHold(t, b.mustRun(extend))
	if lasts := extended.Expires.Sub(extended.Renewed); lasts != 2*time.Hour {
		t.Errorf("lasts %s", lasts)
	}
	text, err := os.ReadFile(b.root + engine.HoldPath)
	check(t, err)
	shorter := hostscript.TakeHoldScript(h, engine.TakeHold{For: hour, Digest: resource.Digest(text)}, time.Time{})
	if kept := readHold(t, b.mustRun(shorter)); !kept.Expires.Equal(extended.Expires) {
		t.Errorf("an extension changes the end %s to %s", extended.Expires, kept.Expires)
	}
	later := b.mustRun(hostscript.HoldScript(h, 3*hour, "", nil)) // by another command
	if again := readHold(t, b.mustRun(extend)); !again.Expires.Equal(readHold(t, later).Expires) {
		t.Errorf("a repeated extension changes the end %s to %s", readHold(t, later).Expires, again.Expires)
	}
	drained := h
	drained.Drain = &engine.HoldDrain{Name: "pods", Kubernetes: "main", Node: "n-1"}
	b.mustRun(hostscript.TakeHoldScript(drained, engine.TakeHold{For: engine.KeepEnd}, time.Time{}))
	b.mustBeRefused(extend)
	if left := b.hold(); left == nil || left.Drain == nil {
		t.Errorf("the drain is lost: %+v", left)
	}
	b.mustRun(hostscript.ReleaseScript(h.Owner(), engine.Release{}))
	stdout, stderr, code := b.run(extend)
	if left := b.hold(); code != hostscript.ScriptHeld || stdout != "" || !strings.Contains(stderr, "has ended") || left != nil {
		t.Errorf("exit status %d, %q, %q, %v", code, stdout, stderr, left)
	}
}

// TestHoldThatIsWrittenAgainKeepsItsEnd: a drain is noted in a hold, which keeps everything else, and whose end no rewriting moves.
func TestHoldThatIsWrittenAgainKeepsItsEnd(t *testing.T) {
	for name, lasts := range map[string]engine.Duration{"an end": hour, "no end": 0} {
		b := newBox(t)
		h := runHold("m1")
		h.Kind, h.Ticket, h.Reason = engine.MaintenanceHold, "OPS-7", `a "expires":"2020-01-01T00:00:00Z" in a reason`
		first := readHold(t, b.mustRun(hostscript.HoldScript(h, lasts, "", nil)))
		text, err := os.ReadFile(b.root + engine.HoldPath)
		check(t, err)
		if lasts > 0 { // as if time had passed
			first.Expires = first.Expires.Add(-10 * time.Minute)
			text = []byte(strings.ReplaceAll(string(text), first.Expires.Add(10*time.Minute).Format(time.RFC3339), first.Expires.Format(time.RFC3339)))
			check(t, os.WriteFile(b.root+engine.HoldPath, text, 0o600))
		}
		h.Drain = &engine.HoldDrain{Name: "pods", Done: true, Kubernetes: "main", Node: "n-1", Cordoned: true}
		again := readHold(t, b.mustRun(hostscript.TakeHoldScript(h, engine.TakeHold{For: engine.KeepEnd}, time.Time{})))
		if !again.Expires.Equal(first.Expires) || again.Ticket != "OPS-7" || again.Drain == nil || *again.Drain != *h.Drain || !again.Acquired.Equal(first.Acquired) {
			t.Errorf("%s: %+v, was %+v", name, again, first)
		}
		h.Drain = nil
		if last := readHold(t, b.mustRun(hostscript.TakeHoldScript(h, engine.TakeHold{For: engine.KeepEnd}, time.Time{}))); last.Drain != nil || !last.Expires.Equal(first.Expires) {
			t.Errorf("%s: %+v", name, last)
		}
	}
}
