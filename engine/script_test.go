package engine_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/resource"
)

var stageText, jobText = engine.ShareText("stage \"$digest\" && sh -c \"$job\"\n"), engine.ShareText("echo 'it runs' >&2\n")

func bootOf(host string) resource.BootID { return resource.BootID("boot-of-" + host) }

func scriptOf(host string) engine.Script {
	return engine.Script{{Values: "host=" + host + "\n"}, {Boot: bootOf(host)}, {Job: engine.Script{{Values: "name='a b'\n"}, {Text: jobText}}}, {Text: stageText}}
}

func planOf(hosts int) engine.Plan {
	gates := []engine.Step{{Name: "gate", On: engine.Bastion, Do: engine.Op{Command: &engine.Local{Command: "check"}}}}
	p := engine.Plan{Schema: engine.PlanSchema, Before: gates}
	for i := range hosts {
		host := fmt.Sprintf("w-%d", i)
		run := engine.Step{Name: "stage", On: host, Do: engine.Op{Exec: &engine.Exec{Script: scriptOf(host), Abort: engine.NewScript("stop")}}}
		prove := engine.Step{Name: "prove login", On: host, Do: engine.Op{ProveLogin: &engine.ProveLogin{Confirm: scriptOf(host), Undo: scriptOf(host)}}}
		reboot := engine.Step{Name: "reboot", On: host, Do: engine.Op{Exec: &engine.Exec{Script: engine.Script{{Boot: bootOf(host)}, {Text: stageText}}}}, Reboots: true}
		await := engine.Step{Name: "wait for boot", On: host, Do: engine.Op{AwaitBoot: &engine.AwaitBoot{BootID: bootOf(host), Digest: "next"}}}
		awaitAny := engine.Step{Name: "wait for boot", On: host, Do: engine.Op{AwaitBoot: &engine.AwaitBoot{Digest: "previous"}}}
		release := engine.Step{Name: "release", On: host, Do: engine.Op{Release: &engine.Release{BootID: bootOf(host)}}}
		undo := engine.Step{Name: "undo drain", On: host, Do: engine.Op{Command: &engine.Local{Command: "undrain $HOLDFAST_HOST"}}}
		drain := engine.Step{Name: "drain", On: host, Do: engine.Op{Command: &engine.Local{Command: "drain $HOLDFAST_HOST"}}, Undo: &undo}
		p.Hosts = append(p.Hosts, engine.HostPlan{Host: host, BootID: bootOf(host), Actions: []engine.Action{}, Stage: []engine.Step{run}, Sequence: []engine.Step{drain, run, prove, reboot, await, release}, Rollback: []engine.Step{run, awaitAny}})
		p.Batches = append(p.Batches, engine.Batch{Pools: []string{"w"}, Hosts: []string{host}, Before: gates})
	}
	return p
}

func TestScriptIsWhatHostsGet(t *testing.T) {
	want := "host=w\nboot=boot-of-w\njob='name='\\''a b'\\''\necho '\\''it runs'\\'' >&2\n'\nstage \"$digest\" && sh -c \"$job\"\n"
	if got := scriptOf("w").String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	parts := engine.JoinScripts(engine.NewScript("set -eu\n"), nil, scriptOf("w"), engine.NewScript(""))
	if len(parts) != 4 || parts.String() != "set -eu\n"+want {
		t.Errorf("%d parts: %q", len(parts), parts)
	}
}

// TestPlanIsReadAsItWas checks that the JSON of a plan has each text and each step once,
// and that a plan that was read has the same steps.
func TestPlanIsReadAsItWas(t *testing.T) {
	plan := planOf(3)
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	for _, once := range []string{"it runs", `"drain $HOLDFAST_HOST"`, `"undrain $HOLDFAST_HOST"`, `"bastion"`, `"next"`, `"previous"`, `"release":{"name"`, `"reboot":{"name"`, `"boot_id":"boot-of-w-0"`, `"boot_id":"boot-of-w-2"`, `"boot_id":"planned","digest"`} {
		if n := strings.Count(string(text), once); n != 1 {
			t.Errorf("%q is in the plan %d times: %s", once, n, text)
		}
	}
	var got engine.Plan
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, plan) {
		t.Errorf("got %+v, want %+v", got, plan)
	}
}

// TestLongScriptsAreNotCopiedWithoutLimit checks that a short plan cannot fill the memory
// with copies of a script.
func TestLongScriptsAreNotCopiedWithoutLimit(t *testing.T) {
	part := strings.Repeat(`{"boot":"planned"},`, 100_000) + "{}"
	text := `{"hosts":[{"boot_id":"b","sequence":["s"` + strings.Repeat(`,"s"`, 10_000) + `]}],"steps":{"s":{"do":{"exec":{"script":[` + part + `]}}}}}`
	var got engine.Plan
	if err := json.Unmarshal([]byte(text), &got); err == nil || !strings.Contains(err.Error(), "longer than any") {
		t.Error(err)
	}
}

// TestStepsOfOneNameKeepTheirOrder checks that different steps with one name, and steps
// whose name is like a numbered one, stay apart.
func TestStepsOfOneNameKeepTheirOrder(t *testing.T) {
	pause := func(name string, seconds int) engine.Step {
		return engine.Step{Name: name, On: "w", Do: engine.Op{Pause: &engine.Pause{For: engine.Duration(seconds) * engine.Duration(time.Second)}}}
	}
	plan := engine.Plan{Hosts: []engine.HostPlan{{Host: "w", Sequence: []engine.Step{
		pause("wait", 1), pause("wait 2", 2), pause("wait", 3), pause("wait 2", 4), pause("wait", 1), pause("", 5), pause("", 6),
	}}}}
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	var got engine.Plan
	if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, plan) {
		t.Errorf("got %+v of %s: %v", got, text, err)
	}
}

// TestChangedPlansAreRefused checks that a plan from elsewhere brings no text with it that
// does not have its digest, no script without its text, no name without its step, and
// no step or script that is copied many times for each name.
func TestChangedPlansAreRefused(t *testing.T) {
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
		"a step is missing":  {`"stage":["stage"`, `"stage":["stage 2"`, `"stage 2", which the plan does not have`},
		"a step in place":    {`"stage":["stage"`, `"stage":[{}`, "cannot unmarshal"},
		"undo of an undo":    {`"undo":{"name":"undo drain"`, `"undo":{"undo":{},"name":"undo drain"`, "has an undo"},
	} {
		text := strings.ReplaceAll(string(whole), c.old, c.replaced)
		var got engine.Plan
		if err := json.Unmarshal([]byte(text), &got); text == string(whole) || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
