package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"holdfast/engine"
)

var stageText, jobText = engine.ShareText("stage \"$digest\" && sh -c \"$job\"\n"), engine.ShareText("echo 'it runs' >&2\n")

func scriptOf(host string) engine.Script {
	return engine.Script{{Values: "host=" + host + "\n"}, {Job: engine.Script{{Values: "name='a b'\n"}, {Text: jobText}}}, {Text: stageText}}
}

func planOf(hosts int) engine.Plan {
	p := engine.Plan{Schema: engine.PlanSchema}
	for i := range hosts {
		host := fmt.Sprintf("w-%d", i)
		run := engine.Step{Name: "stage", On: host, Do: engine.Op{Exec: &engine.Exec{Script: scriptOf(host), Abort: engine.NewScript("stop")}}}
		prove := engine.Step{Name: "prove login", On: host, Do: engine.Op{ProveLogin: &engine.ProveLogin{Confirm: scriptOf(host), Undo: scriptOf(host)}}}
		p.Hosts = append(p.Hosts, engine.HostPlan{Host: host, Stage: []engine.Step{run}, Sequence: []engine.Step{run, prove}, Rollback: []engine.Step{run}})
	}
	p.Texts = p.CollectTexts()
	return p
}

func TestScriptIsWhatHostsGet(t *testing.T) {
	want := "host=w\njob='name='\\''a b'\\''\necho '\\''it runs'\\'' >&2\n'\nstage \"$digest\" && sh -c \"$job\"\n"
	if got := scriptOf("w").String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	parts := engine.JoinScripts(engine.NewScript("set -eu\n"), nil, scriptOf("w"), engine.NewScript(""))
	if len(parts) != 3 || parts.String() != "set -eu\n"+want {
		t.Errorf("%d parts: %q", len(parts), parts)
	}
}

// TestPlanIsReadWithItsTexts: the JSON of a plan has each text once, and a plan that
// was read has the same scripts.
func TestPlanIsReadWithItsTexts(t *testing.T) {
	plan := planOf(3)
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "it runs"); n != 1 {
		t.Errorf("a text is in the plan %d times", n)
	}
	var got engine.Plan
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for i, hp := range got.Hosts {
		for j, s := range hp.Sequence {
			was := plan.Hosts[i].Sequence[j]
			if s.Do.Exec != nil && (s.Do.Exec.Script.String() != was.Do.Exec.Script.String() || s.Do.Exec.Abort.String() != "stop") {
				t.Errorf("got %q", s.Do.Exec.Script)
			}
			if s.Do.ProveLogin != nil && (s.Do.ProveLogin.Confirm.String() != was.Do.ProveLogin.Confirm.String() || s.Do.ProveLogin.Undo.String() != scriptOf(hp.Host).String()) {
				t.Errorf("got %q", s.Do.ProveLogin)
			}
		}
	}
}

// TestChangedTextsAreRefused: a plan from elsewhere brings no text with it that does
// not have its digest, and no script without its text.
func TestChangedTextsAreRefused(t *testing.T) {
	whole, err := json.Marshal(planOf(1))
	if err != nil {
		t.Fatal(err)
	}
	job, other := string(engine.DigestOf("echo 'it runs' >&2\n")), string(engine.DigestOf("rm -rf /\n"))
	for name, c := range map[string]struct{ old, replaced, want string }{
		"another text":       {"it runs", "it fails", "does not have its digest"},
		"another digest":     {`"` + job + `":`, `"` + other + `":`, "does not have its digest"},
		"a text is missing":  {`"text":"` + job + `"`, `"text":"` + other + `"`, "which the plan does not have"},
		"no digest":          {`"text":"` + job + `"`, `"text":""`, "which the plan does not have"},
		"a text as an empty": {`"text":"` + job + `"`, `"text":{}`, "cannot unmarshal"},
	} {
		text := strings.ReplaceAll(string(whole), c.old, c.replaced)
		var got engine.Plan
		if err := json.Unmarshal([]byte(text), &got); text == string(whole) || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
