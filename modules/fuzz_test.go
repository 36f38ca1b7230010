package modules

import (
	"encoding/json"
	"testing"

	"holdfast/engine"
	"holdfast/modules/moduletest"
	"holdfast/modules/osimage"
)

// FuzzRead passes arbitrary output of a host to every module.
func FuzzRead(f *testing.F) {
	f.Add("ostree", "* lab "+moduletest.V1+".0\n    Version: 1.0\n", `{"deployments":[{"checksum":"`+moduletest.V1+`","booted":true}]}`)
	f.Add("rpm-ostree", "  lab "+moduletest.V2+".0 (staged)\n", `{"deployments":[{"id":"lab-`+moduletest.V2+`.0","checksum":"`+moduletest.V2+`","staged":true}]}`)
	f.Add("bootc", "x", `{"status":{"booted":{"image":{"image":{"image":"a"},"imageDigest":"sha256:b"},"ostree":{}}}}`)
	f.Add("ostree", "", `{"schema":1,"kind":"run"}`)
	f.Fuzz(func(t *testing.T, name, text, other string) {
		d := engine.Desired{OS: &engine.OS{Driver: name, Commit: moduletest.V2, Remote: "r", Ref: "b"}}
		outputs := engine.Outputs{}
		for _, m := range All() {
			for i, c := range m.Observer.Probe(d) {
				outputs[c.Name] = engine.Output{Stdout: []string{text, other}[i%2], Stderr: text, Code: len(other) % 3}
				if len(text)%2 == 0 {
					outputs[c.Name] = engine.Output{Stdout: other}
				}
			}
		}
		facts := engine.Facts{BootID: moduletest.Boot}
		for _, m := range All() {
			facts = m.Observer.Read(d, outputs, facts)
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
		found, err := osimage.Module().Changes.Diff(d, facts)
		if err == nil && len(found.Changes) == 0 && (facts.Booted() == nil || facts.Booted().Digest != moduletest.V2) {
			t.Errorf("nothing to do on %+v", facts)
		}
		if len(found.Changes) > 0 {
			found.Steps(moduletest.Target(d, facts), found.Changes)
		}
	})
}
