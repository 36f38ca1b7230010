package modules

import (
	"encoding/json"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
)

// FuzzRead feeds every module with any output of a host.
func FuzzRead(f *testing.F) {
	f.Add("ostree", "* lab "+v1+".0\n    Version: 1.0\n", `{"deployments":[{"checksum":"`+v1+`","booted":true}]}`)
	f.Add("rpm-ostree", "  lab "+v2+".0 (staged)\n", `{"deployments":[{"id":"lab-`+v2+`.0","checksum":"`+v2+`","staged":true}]}`)
	f.Add("bootc", "x", `{"status":{"booted":{"image":{"image":{"image":"a"},"imageDigest":"sha256:b"},"ostree":{}}}}`)
	f.Add("ostree", "", `{"kind":"run"}`)
	f.Fuzz(func(t *testing.T, name, text, other string) {
		d := engine.Desired{OS: &engine.OS{Driver: name, Commit: v2, Remote: "r", Ref: "b"}}
		outputs := engine.Outputs{}
		for _, m := range All() {
			for i, c := range m.Probe(d) {
				outputs[c.Name] = engine.Output{Stdout: []string{text, other}[i%2], Stderr: text, Code: len(other) % 3}
				if len(text)%2 == 0 {
					outputs[c.Name] = engine.Output{Stdout: other}
				}
			}
		}
		facts := engine.Facts{BootID: boot}
		for _, m := range All() {
			facts = m.Read(d, outputs, facts)
		}
		if facts.Hold != nil && facts.HoldProblem != "" {
			t.Errorf("a hold and a problem: %+v", facts)
		}
		for _, dep := range facts.Deployments {
			if dep.Locked && !dep.Staged {
				t.Errorf("locked but not staged: %+v", dep)
			}
		}
		if _, err := json.Marshal(facts); err != nil {
			t.Error(err)
		}
		changes, err := operatingSystem{}.Diff(d, facts)
		if err == nil && len(changes) == 0 && (facts.Booted() == nil || facts.Booted().Digest != v2) {
			t.Errorf("nothing to do on %+v", facts)
		}
		operatingSystem{}.Steps(target(d, facts), changes)
	})
}

func TestADetailOfADeploymentIsNotADeployment(t *testing.T) {
	text := "* lab " + v1 + ".0\n    Version: * lab " + v2 + ".0 (staged)\n    origin refspec: (finalization locked)\n    `- lab " + v2 + ".0 (staged)\n"
	got := statusText(text)
	if len(got) != 1 || got[0].Staged || got[0].Origin != "(finalization locked)" {
		t.Errorf("read %+v", got)
	}
}

func TestAHoldThatIsTooLargeIsAProblem(t *testing.T) {
	text := `{"kind":"run","reason":"` + strings.Repeat("x", hostscript.MaxHold) + `"}`
	if h, problem := hostscript.ReadHold(engine.Output{Stdout: text}); h != nil || problem == "" {
		t.Errorf("%v, %q", h, problem)
	}
}

func TestValuesReachScriptsQuoted(t *testing.T) {
	evil := "x'; touch /pwned; $(touch /pwned) `touch /pwned` \n"
	d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: evil, Ref: evil, Commit: evil}}
	f := engine.Facts{BootID: evil, Deployments: []engine.Deployment{{Digest: v1, Booted: true}}}
	tgt := target(d, f)
	tgt.Run, tgt.Host.Cluster = evil, evil
	b := newBox(t)
	for _, s := range append(stageAndReboot(tgt), engine.Step{}) {
		if s.Do.Exec == nil {
			continue
		}
		b.run(strings.ReplaceAll(s.Do.Exec.Script, "/pwned", b.root+"/pwned"))
		b.hold(engine.RunHold, strings.ReplaceAll(evil, "/pwned", b.root+"/pwned"))
		b.run(strings.ReplaceAll(s.Do.Exec.Script, "/pwned", b.root+"/pwned"))
	}
	if b.exists("pwned") {
		t.Error("a value was carried out")
	}
}

func stageAndReboot(t engine.Target) []engine.Step {
	steps := operatingSystem{}.Steps(t, []engine.Change{{Module: "os"}})
	return append(steps.Stage, steps.Reboot...)
}
