package reboots

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/cmd/holdfast-lab/internal/site"
	"holdfast/cmd/holdfast-lab/internal/spec"
	"holdfast/engine"
)

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		bench Bench
		says  string
	}{
		"all":              {Bench{Ways: "fsk", Runs: 3, Firmware: time.Minute}, ""},
		"one, no firmware": {Bench{Ways: "s", Runs: 1}, ""},
		"all by default":   {Bench{Runs: 1}, ""},
		"qemu":             {Bench{Qemu: true, Ways: "xf", Runs: 3, Firmware: time.Minute}, ""},
		"soft in qemu":     {Bench{Qemu: true, Ways: "fs", Runs: 1}, `letters of fx, not "fs"`},
		"kexec of members": {Bench{Ways: "x", Runs: 1}, `letters of fsk, not "x"`},
		"another way":      {Bench{Ways: "fx", Runs: 1}, `different letters of fsk, not "fx"`},
		"twice":            {Bench{Ways: "ff", Runs: 1}, "different letters"},
		"no runs":          {Bench{Ways: "f"}, "--runs"},
		"too long":         {Bench{Ways: "f", Runs: 1, Firmware: 2 * time.Hour}, "--firmware"},
	} {
		err := c.bench.Check()
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestChangeInventory checks that the inventory of the lab has every line that the bench changes.
func TestChangeInventory(t *testing.T) {
	s, err := spec.Parse("reboots.hcl", []byte(hostsHCL))
	if err != nil {
		t.Fatal(err)
	}
	text := string(site.RenderInventory(s, "lab/testing/x86_64", strings.Repeat("0", 64), nil))
	for _, w := range allWays() {
		changed, err := changeInventory(text, w, true)
		if err != nil || strings.Count(changed, `soft = "auto"`) != 2 || strings.Count(changed, "allow_outage = true") != 1 || strings.Contains(changed, surviving) != w.stays {
			t.Errorf("%s: %v\n%s", w.title, err, changed)
		}
	}
	if _, err := changeInventory("", way{}, false); err == nil {
		t.Error("an empty inventory was changed")
	}
}

// TestAllowKexecs checks that the inventory of the lab with a host in qemu has the line that the bench changes.
func TestAllowKexecs(t *testing.T) {
	s, err := spec.Parse("reboots.hcl", []byte(virtualHCL))
	if err != nil || !s.HasQemu() {
		t.Fatal(s, err)
	}
	text := string(site.RenderInventory(s, "lab/trixie/x86_64", strings.Repeat("0", 64), nil))
	if changed, err := allowKexecs(text); err != nil || strings.Count(changed, `kexec = "auto"`) != 1 {
		t.Errorf("%v\n%s", err, changed)
	}
}

// TestVirtualRuns checks that the host in qemu goes both ways in each OS, and that its table has no column of members.
func TestVirtualRuns(t *testing.T) {
	results := Results{Dir: filepath.Join(t.TempDir(), "new")}
	if err := results.Make(); err != nil {
		t.Fatal(err)
	}
	b := &Bench{Qemu: true, Ways: "fx", Runs: 3, Firmware: time.Minute, Results: results}
	var letters string
	for i, k := range b.listRuns() {
		letters += k.Way
		r := run{key: k, Given: engine.Duration(time.Second), Answered: engine.Duration(time.Duration(100+i) * time.Second), Healthy: engine.Duration(200 * time.Second)}
		if err := results.add(r); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(r.String(), "the order takes 1.0 s; the host answers after 10") {
			t.Error(r.String())
		}
	}
	if letters != "fxxffx" {
		t.Error(letters)
	}
	var out bytes.Buffer
	if err := PrintTable(&out, results); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"reboot in qemu", "full", "kexec", "103 s (100 s, 104 s)", "102 s (101 s, 105 s)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "member") || strings.Contains(out.String(), "goal") {
		t.Error(out.String())
	}
}

// TestReadEvents checks that the times of a run are those of the host and of its reboot.
func TestReadEvents(t *testing.T) {
	lines := `{"type":"step-started","time":"2026-01-01T00:00:01Z","host":"etcd-0","step":"stage"}
{"type":"batch-started","time":"2026-01-01T00:00:01.5Z"}
{"type":"step-started","time":"2026-01-01T00:00:02Z","host":"etcd-0","step":"finalize","reboot":{"kind":"soft","reason":"x"}}
{"type":"step-ended","time":"2026-01-01T00:00:02.4Z","host":"etcd-0","step":"finalize"}
{"type":"step-ended","time":"2026-01-01T00:00:03Z","host":"etcd-1","step":"wait for boot"}
{"type":"step-ended","time":"2026-01-01T00:00:06Z","host":"etcd-0","step":"wait for boot"}
{"type":"host-done","time":"2026-01-01T00:00:20Z","host":"etcd-0"}
`
	var m moments
	cause, err := m.readEvents(strings.NewReader(lines), "etcd-0")
	if err != nil || cause != "" || m.ordered.Sub(m.began) != 500*time.Millisecond || m.given.Sub(m.ordered) != 400*time.Millisecond || m.answered.Sub(m.ordered) != 4*time.Second || m.healthy.Sub(m.ordered) != 18*time.Second {
		t.Errorf("%+v, %q, %v", m, cause, err)
	}
	if cause, err := m.readEvents(strings.NewReader(`{"type":"host-failed","failure":{"cause":"no power"}}`+"\n"), "etcd-0"); err != nil || cause != "no power" {
		t.Errorf("%q, %v", cause, err)
	}
	if _, err := m.readEvents(strings.NewReader("no event\n"), "etcd-0"); err == nil {
		t.Error("a line that is no event was read")
	}
}

func TestKindOfReboot(t *testing.T) {
	for _, c := range []struct {
		before, after reboots
		want          engine.RebootKind
	}{
		{reboots{1, 0, "a"}, reboots{2, 0, "b"}, engine.FullReboot},
		{reboots{1, 3, "a"}, reboots{2, 0, "b"}, engine.FullReboot},
		{reboots{1, 0, "a"}, reboots{1, 1, "a"}, engine.SoftReboot},
		{reboots{1, 0, "a"}, reboots{1, 0, "b"}, engine.KexecReboot},
		{reboots{1, 2, "a"}, reboots{1, 0, "b"}, engine.KexecReboot},
		{reboots{1, 0, "a"}, reboots{1, 1, "b"}, ""},
		{reboots{1, 0, "a"}, reboots{1, 0, "a"}, ""},
		{reboots{1, 0, "a"}, reboots{1, 2, "a"}, ""},
		{reboots{1, 0, "a"}, reboots{2, 1, "b"}, ""},
		{reboots{1, 0, "a"}, reboots{3, 0, "b"}, ""},
	} {
		if got := c.after.since(c.before); got != c.want {
			t.Errorf("%v, then %v: %q, want %q", c.before, c.after, got, c.want)
		}
	}
}

// TestResults checks that runs are kept, that failed ones are measured again, and that the table has all others, also after
// the bench was killed while it wrote.
func TestResults(t *testing.T) {
	results := Results{Dir: filepath.Join(t.TempDir(), "new")}
	if err := results.Make(); err != nil {
		t.Fatal(err)
	}
	b := &Bench{Ways: "sk", Runs: 2, Firmware: time.Minute, Results: results}
	all := b.listRuns()
	if len(all) != 12 {
		t.Fatalf("%d runs: %v", len(all), all)
	}
	add := func(r run) {
		if err := results.add(r); err != nil {
			t.Fatal(err)
		}
	}
	add(run{key: all[0], Failed: "no host"})
	add(run{key: all[1], Voters: 2, RebootVoters: 3, Gap: engine.Duration(100 * time.Millisecond), Answered: engine.Duration(4 * time.Second)})
	text, err := os.ReadFile(results.path())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(results.path(), append(text, `{"way":"s`...), 0o600); err != nil {
		t.Fatal(err)
	}
	add(run{key: all[0], Away: engine.Duration(3 * time.Second), Voters: 2, Failures: 1, Answered: engine.Duration(7 * time.Second)})
	read, err := results.read()
	if err != nil || len(read) != 2 || !slices.ContainsFunc(read, func(r run) bool { return r.key == all[0] && r.Failures == 1 }) {
		t.Fatalf("%+v, %v", read, err)
	}
	var out bytes.Buffer
	if err := PrintTable(&out, results); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"soft  ", "1m0s", "leader of three", "3.0 s", "100 ms", "order to soft reboot: kept by 1 of 2 runs", "no write fails if etcd runs on: kept by 1 of 1 runs", "not away in the reboot, nor is another voter: kept by 1 of 1 runs",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestDescribe(t *testing.T) {
	g := group{{Failures: 3}, {Failures: 1}, {Failures: 2}}
	value := func(r run) float64 { return float64(r.Failures) * float64(time.Second) }
	if got := g.describe(value, formatTime); got != "2.0 s (1.0 s, 3.0 s)" {
		t.Error(got)
	}
	if got := g[:1].describe(value, formatTime); got != "3.0 s" {
		t.Error(got)
	}
}
