package hostscript_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
	"holdfast/engine/pathtest"
	"holdfast/engine/resource"
)

// rollout reads the roll-out file of the host. It returns nil without a file,
// and fails the test if the file is incomplete.
func (b *box) rollout() *engine.Rollout {
	b.t.Helper()
	text, err := os.ReadFile(b.root + hostscript.RolloutPath)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	check(b.t, err)
	var r engine.Rollout
	if err := json.Unmarshal(text, &r); err != nil {
		b.t.Fatalf("%v in %q", err, text)
	}
	return &r
}

func (b *box) writeFile(path, text string) {
	check(b.t, os.MkdirAll(b.root+engine.StateDir, 0o700))
	check(b.t, os.WriteFile(b.root+path, []byte(text), 0o600))
}

func TestAHostRemembersTheRunThatBeganARollOut(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	first, second := map[string]string{"workers": "2222", "control 'plane'": "3333"}, map[string]string{"workers": "2222"}
	take := func(run, adopt, began string, targets map[string]string) {
		b.mustRun(hostscript.HoldScript(runHold(run), hour, adopt, &engine.Rollout{Run: began, Targets: targets}))
	}
	wantRollout := func(run string, targets map[string]string) {
		t.Helper()
		if got := b.rollout(); got == nil || got.Run != run || !reflect.DeepEqual(got.Targets, targets) {
			t.Errorf("it remembers %+v, not %s %v", got, run, targets)
		}
	}
	take("r1", "", "r1", nil)
	if got := b.rollout(); got != nil {
		t.Errorf("without targets it remembers %+v", got)
	}
	take("r1", "", "r1", first)
	wantRollout("r1", first)
	if info, err := os.Stat(b.root + hostscript.RolloutPath); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	take("r2", "r1", "r1", first)
	wantRollout("r1", first)
	take("r2", "", "r2", second)
	wantRollout("r2", second)
	take("r2", "", "r0", second)
	wantRollout("r0", second)
	take("r2", "", "r2", first)
	wantRollout("r2", first)
	take("r2", "", "r2", nil)
	wantRollout("r2", first)
	b.mustBeRefused(hostscript.HoldScript(runHold("r3"), hour, "", &engine.Rollout{Run: "r3", Targets: second}))
	wantRollout("r2", first)
	b.mustRun(hostscript.ReleaseScript(ownerOf("r2"), engine.Release{Updated: true}))
	wantRollout("r2", first)
	if left, _ := filepath.Glob(b.root + engine.StateDir + "/.hold.*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}

	for _, garbage := range []string{"", "\x00\xff", "{", `{"run":"r1","targets":{"workers":"2222"}}`, "{\n\"run\":\"r1\",\n\"targets\":{\"workers\":\"2222\"}\n}\nand more\n"} {
		b.writeFile(hostscript.RolloutPath, garbage)
		take("r4", "", "r4", second)
		wantRollout("r4", second)
		b.mustRun(hostscript.ReleaseScript(ownerOf("r4"), engine.Release{}))
	}
	text, err := os.ReadFile(b.root + hostscript.RolloutPath)
	check(t, err)
	b.writeFile(hostscript.RolloutPath, "\x00"+string(text))
	take("r4", "", "r4", second)
	wantRollout("r4", second)
}

func TestAHostRemembersWhenItWasUpdated(t *testing.T) {
	b := newBox(t)
	updated := func() string {
		text, err := os.ReadFile(b.root + hostscript.UpdatedPath)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return string(text)
	}
	b.mustRun(hostscript.HoldScript(runHold("r1"), hour, "", nil))
	b.mustBeRefused(hostscript.ReleaseScript(ownerOf("r2"), engine.Release{Updated: true}))
	b.mustRun(hostscript.ReleaseScript(ownerOf("r1"), engine.Release{}))
	b.mustRun(hostscript.ReleaseScript(ownerOf("r1"), engine.Release{Updated: true})) // there is no hold
	if got := updated(); got != "" {
		t.Errorf("it remembers %q", got)
	}
	b.mustRun(hostscript.HoldScript(runHold("r1"), hour, "", nil))
	start := time.Now().UTC().Truncate(time.Second)
	b.mustRun(hostscript.ReleaseScript(ownerOf("r1"), engine.Release{Updated: true}))
	at, err := time.Parse(time.RFC3339, strings.TrimSuffix(updated(), "\n"))
	if err != nil || at.Before(start) || at.After(time.Now()) || !strings.HasSuffix(updated(), "Z\n") {
		t.Errorf("it remembers %q (%v)", updated(), err)
	}
	old := updated()
	b.mustRun(hostscript.HoldScript(runHold("r1"), hour, "", nil))
	b.mustRun(hostscript.ReleaseScript(ownerOf("r1"), engine.Release{}))
	if got := updated(); got != old {
		t.Errorf("it remembers %q", got)
	}
}

// TestAHostForgetsThatAnOSFailed checks that a release removes the accepted OS
// from the list of rejected ones, and keeps the others in their order.
func TestAHostForgetsThatAnOSFailed(t *testing.T) {
	t.Parallel()
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	check(t, err)
	this := resource.BootID(strings.TrimSpace(string(boot)))
	well := engine.Release{Updated: true, Accepts: "2222"}
	for name, c := range map[string]struct {
		release      engine.Release
		before, want string
	}{
		"the last":          {well, "1111\n2222\n", "1111\n"},
		"the first":         {well, "2222\n3333\n", "3333\n"},
		"the only one":      {well, "2222\n", ""},
		"twice":             {well, "2222\n1111\n2222\n", "1111\n"},
		"without a newline": {well, "1111\n2222", "1111\n"},
		"another":           {well, "1111\nsha256:2222\n22222\n", "1111\nsha256:2222\n22222\n"},
		"odd lines":         {well, "-n\n \\n%s*\n2222\n", "-n\n\\n%s*\n"},
		"none":              {well, "none", "none"},
		"in this boot":      {engine.Release{Updated: true, Accepts: "2222", BootID: this}, "1111\n2222\n", "1111\n"},
		"soft rebooted":     {engine.Release{Updated: true, Accepts: "2222", BootID: this + "+2"}, "1111\n2222\n", "1111\n"},
		"soft reboot since": {engine.Release{Updated: true, Accepts: "2222", BootID: this + "+1"}, "1111\n2222\n", "1111\n2222\n"},
		"of a boot before":  {engine.Release{Updated: true, Accepts: "2222", BootID: "0000"}, "1111\n2222\n", "1111\n2222\n"},
		"given back":        {engine.Release{Accepts: "2222"}, "1111\n2222\n", "1111\n2222\n"},
		"of no matter":      {engine.Release{Updated: true}, "1111\n2222\n", "1111\n2222\n"},
	} {
		t.Run(name, func(t *testing.T) {
			longtest.SkipOthers(t, name, "the last", "twice", "odd lines", "none", "soft reboot since", "given back")
			b := newBox(t)
			if c.release.BootID.SoftReboots() > 0 {
				b.writeFile("/soft-reboots", "2\n")
			}
			b.mustRun(hostscript.HoldScript(runHold("r1"), hour, "", nil))
			if c.before != "none" {
				b.writeFile(hostscript.RejectedPath, c.before)
			}
			b.mustBeRefused(hostscript.ReleaseScript(ownerOf("r2"), c.release))
			b.mustRun(hostscript.ReleaseScript(ownerOf("r1"), c.release))
			b.mustRun(hostscript.ReleaseScript(ownerOf("r1"), c.release))
			got, err := os.ReadFile(b.root + hostscript.RejectedPath)
			if errors.Is(err, os.ErrNotExist) {
				got, err = []byte("none"), nil
			}
			check(t, err)
			if string(got) != c.want || b.hold() != nil {
				t.Errorf("it has rejected %q, held: %v", got, b.hold() != nil)
			}
			if info, err := os.Stat(b.root + hostscript.RejectedPath); err == nil && info.Mode() != 0o600 {
				t.Errorf("its mode is %s", info.Mode())
			}
			if left, _ := filepath.Glob(b.root + engine.StateDir + "/.hold.*"); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestAPowerCutLeavesWhatIsRememberedWhole checks that a script killed at any
// command leaves each file complete, with its old or new content, and that
// running the script again ends with the new content.
func TestAPowerCutLeavesWhatIsRememberedWhole(t *testing.T) {
	t.Parallel()
	longtest.SkipSlow(t)
	old, next := &engine.Rollout{Run: "r0", Targets: map[string]string{"p": "1111"}}, &engine.Rollout{Run: "r1", Targets: map[string]string{"p": "2222"}}
	for n := 1; ; n++ {
		b := newBox(t)
		b.mustRun(hostscript.HoldScript(runHold("r0"), hour, "", old))
		b.mustRun(hostscript.ReleaseScript(ownerOf("r0"), engine.Release{}))
		b.killAt(n)
		take := hostscript.HoldScript(runHold("r1"), hour, "", next)
		_, _, code := b.run(take)
		if got := b.rollout(); got == nil || got.Run != "r0" && (got.Run != "r1" || b.hold() == nil) {
			t.Fatalf("killed at command %d: %+v, held: %v", n, got, b.hold() != nil)
		}
		b.path = b.root + "/bin:" + pathtest.Tools()
		b.mustRun(take)
		if got := b.rollout(); got == nil || got.Run != "r1" {
			t.Fatalf("killed at command %d and run again: %+v", n, got)
		}
		if code == 0 {
			break
		}
	}
	for n := 1; ; n++ {
		b := newBox(t)
		b.mustRun(hostscript.HoldScript(runHold("r0"), hour, "", nil))
		b.writeFile(hostscript.RejectedPath, "1111\n2222\n3333\n")
		b.killAt(n)
		release := hostscript.ReleaseScript(ownerOf("r0"), engine.Release{Updated: true, Accepts: "2222"})
		_, _, code := b.run(release)
		b.path = b.root + "/bin:" + pathtest.Tools()
		text, err := os.ReadFile(b.root + hostscript.UpdatedPath)
		if err == nil && len(text) != len("2026-11-22T04:05:06Z\n") {
			t.Fatalf("killed at command %d: %q", n, text)
		}
		if err != nil && b.hold() == nil {
			t.Fatalf("killed at command %d: the hold is gone, and the time was not noted", n)
		}
		rejected, err := os.ReadFile(b.root + hostscript.RejectedPath)
		if all := string(rejected) == "1111\n2222\n3333\n"; err != nil || !all && string(rejected) != "1111\n3333\n" || all && b.hold() == nil {
			t.Fatalf("killed at command %d: it has rejected %q (%v), held: %v", n, rejected, err, b.hold() != nil)
		}
		b.mustRun(release)
		if _, err := os.Stat(b.root + hostscript.UpdatedPath); err != nil || b.hold() != nil {
			t.Fatalf("killed at command %d and run again: %v", n, err)
		}
		if rejected, err := os.ReadFile(b.root + hostscript.RejectedPath); string(rejected) != "1111\n3333\n" {
			t.Fatalf("killed at command %d and run again: it has rejected %q (%v)", n, rejected, err)
		}
		if code == 0 {
			break
		}
	}
}
