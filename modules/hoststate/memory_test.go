package hoststate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/modules/moduletest"
)

func TestWhatAHostRemembers(t *testing.T) {
	b := moduletest.NewBox(t)
	f := b.ReadFacts(engine.Desired{}, Module())
	if f.Rollout != nil || !f.Updated.IsZero() || f.Rejected != nil || f.Version != "" || len(f.Problems) > 0 {
		t.Errorf("a new host remembers %+v", f)
	}
	h := engine.Hold{Kind: engine.RunHold, Holder: "ann@bastion", Run: "r1", Reason: "test"}
	targets := map[string]string{"workers": moduletest.V2, `a "quoted" pool`: moduletest.V3}
	const run, before = "20260302-100000-0123456789abcdef", "20260301-100000-0123456789abcdef"
	b.Want(b.Run(hostscript.HoldScript(h, 0, "", &engine.Rollout{Run: run, Number: engine.MaxRollout, Targets: targets, Supersedes: []string{before, run}})), 0, "")
	f = b.ReadFacts(engine.Desired{}, Module())
	if f.Rollout == nil || f.Rollout.Run != run || f.Rollout.Number != engine.MaxRollout || !slices.Equal(f.Rollout.Supersedes, []string{before, run}) || len(f.Rollout.Targets) != 2 || f.Rollout.Targets["workers"] != moduletest.V2 || f.Rollout.Targets[`a "quoted" pool`] != moduletest.V3 {
		t.Errorf("it remembers %+v", f.Rollout)
	}
	b.Write(hostscript.RejectedPath, moduletest.V2+"\n\n"+moduletest.V2+"\nno digest\n"+moduletest.V3+" \nsha256:"+moduletest.V1+"\n"+moduletest.V1+"0\n"+strings.ToUpper(strings.Repeat("ab", 32))+"\n\x00\xff\nsha256:")
	b.Write(hostscript.UpdatedPath, "2026-11-22T04:05:06Z")
	f = b.ReadFacts(engine.Desired{}, Module())
	if got := strings.Join(f.Rejected, " "); got != moduletest.V2+" "+moduletest.V3+" sha256:"+moduletest.V1 {
		t.Errorf("rejected %s", got)
	}
	if !f.Updated.Equal(time.Date(2026, 11, 22, 4, 5, 6, 0, time.UTC)) {
		t.Errorf("updated %s", f.Updated)
	}
}

func TestGarbageInWhatAHostRemembersIsAsGoodAsNothing(t *testing.T) {
	large := strings.Repeat(" ", maxMemory) + `{"run":"r1","targets":{"p":"` + moduletest.V1 + `"}}`
	for _, text := range []string{
		"", "null", "[]", "{", `{"run":"r1"}`, `{"targets":{"p":"x"}}`, `{"run":1,"targets":{"p":"x"}}`, `{"run":"r1","targets":["p"]}`, "\x00\xff\x1b[2J",
		`{"run":"r1","targets":{"p":"x"}} more`, large, "9999-12-31T23:59:59-01:00", "0000-01-01T00:00:00Z", "yesterday", "2026-11-22T04:05:06",
	} {
		b := moduletest.NewBox(t)
		for _, path := range []string{hostscript.RolloutPath, hostscript.UpdatedPath, hostscript.RejectedPath} {
			b.Write(path, text)
		}
		f := b.ReadFacts(engine.Desired{}, Module())
		if f.Rollout != nil || !f.Updated.IsZero() || f.Rejected != nil || len(f.Problems) > 0 || !f.Reached() {
			t.Errorf("%.40q is read as %+v, %s, %v (%v)", text, f.Rollout, f.Updated, f.Rejected, f.Problems)
		}
		if _, err := json.Marshal(f); err != nil {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	b := moduletest.NewBox(t)
	for _, path := range []string{hostscript.RolloutPath, hostscript.UpdatedPath, hostscript.RejectedPath} {
		b.Mkdir(path)
	}
	if f := b.ReadFacts(engine.Desired{}, Module()); f.Rollout != nil || len(f.Problems) > 0 {
		t.Errorf("directories are read as %+v", f)
	}
}

func TestTheVersionOfAHost(t *testing.T) {
	long := strings.Repeat("ä", 150)
	for command, want := range map[string]string{
		"":                                     "",
		"echo v1.30.2":                         "v1.30.2",
		"printf '\\n  v1.30.2 \\nsecond line'": "v1.30.2",
		"echo it; exit 3":                      "",
		"nosuchcommand":                        "",
		"cat; echo 'x'\"'\"'y'":                "x'y",
		"printf '\\033[2J1\\r'":                `\x1b[2J1`,
		"echo " + long:                         strings.Repeat("ä", 100),
		"echo 1.2; head -c 100000 /dev/zero":   "1.2",
		"read -r x <$HOME; kill -9 $$":         "",
	} {
		b := moduletest.NewBox(t)
		f := b.ReadFacts(engine.Desired{VersionCommand: command}, Module())
		if f.Version != want || len(f.Problems) > 0 {
			t.Errorf("%q gives %q, want %q (%v)", command, f.Version, want, f.Problems)
		}
		if f.BootID != moduletest.Boot || len(f.Running) == 0 {
			t.Errorf("%q spoils the other facts: %+v", command, f)
		}
	}
}

func TestAVersionCommandThatHangsIsEnded(t *testing.T) {
	b := moduletest.NewBox(t)
	started := filepath.Join(b.Root, "started")
	var script string
	for _, c := range (observer{}).Probe(engine.Desired{VersionCommand: ": >" + started + "; while :; do :; done"}) {
		if c.Name == "version" {
			script = strings.Replace(c.Script, "-k 2 10 ", "-k 2 0.3 ", 1)
		}
	}
	out := b.Run(script)
	if _, err := os.Stat(started); err != nil || out.Code != 124 {
		t.Errorf("exit status %d, %v", out.Code, err)
	}
}

func TestAHoldThatIsTooLargeIsAProblem(t *testing.T) {
	text := `{"schema":1,"kind":"run","reason":"` + strings.Repeat("x", hostscript.MaxHold) + `"}`
	if h, problem := hostscript.ReadHold(engine.Output{Stdout: text}); h != nil || problem == "" {
		t.Errorf("%v, %q", h, problem)
	}
}
