package hostscript_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
)

// TestHoldLook checks the result of ReadHold for a free host, a held host, and
// a host with an unreadable hold file.
func TestHoldLook(t *testing.T) {
	look := func(b *box) engine.Facts {
		out, _, code := b.run(hostscript.HoldProbeScript())
		hold, problem := hostscript.ReadHold(engine.Output{Stdout: out, Code: code})
		return engine.Facts{Hold: hold, HoldProblem: problem}
	}
	b := newBox(t)
	if f := look(b); f.Hold != nil || f.HoldProblem != "" || !f.Reached() {
		t.Errorf("nobody's: %+v", f)
	}
	b.mustRun(hostscript.HoldScript(runHold("r1"), hour, "", nil))
	if f := look(b); f.Hold == nil || f.Hold.Run != "r1" || f.HoldProblem != "" {
		t.Errorf("held: %+v", f)
	}
	for _, text := range []string{"", "{", "no hold"} {
		b.writeFile(engine.HoldPath, text)
		if f := look(b); f.Hold != nil || f.HoldProblem == "" {
			t.Errorf("%q is no hold: %+v", text, f)
		}
	}
	b.run(fmt.Sprintf("rm %[1]s; ln -s nowhere %[1]s", engine.HoldPath))
	if f := look(b); f.HoldProblem == "" {
		t.Errorf("a link to nowhere: %+v", f)
	}
}

// TestProblemsOfHolds checks that a problem of a hold has the last line of the error and nothing of a hold that is
// too large, and that a text that is no hold is cut.
func TestProblemsOfHolds(t *testing.T) {
	t.Parallel()
	_, problem := hostscript.ReadHold(engine.Output{Code: 1, Stderr: "warning: slow\nhead: it cannot be opened\n"})
	if problem != engine.HoldPath+" cannot be read: head: it cannot be opened" {
		t.Error(problem)
	}
	if _, problem := hostscript.ReadHold(engine.Output{Code: 1, Stderr: "no line"}); problem != engine.HoldPath+" cannot be read: no line" {
		t.Error(problem)
	}
	valid := `{"schema":1,"kind":"run"}` + strings.Repeat(" ", hostscript.MaxHold)
	if hold, problem := hostscript.ReadHold(engine.Output{Stdout: valid[:hostscript.MaxHold]}); hold == nil || problem != "" {
		t.Error(hold, problem)
	}
	if hold, problem := hostscript.ReadHold(engine.Output{Stdout: valid[:hostscript.MaxHold+1]}); hold != nil || problem == "" {
		t.Error(hold, problem)
	}
	if text := hostscript.DescribeHolder(engine.Output{Stdout: strings.Repeat("x", 5000)}); len(text) > 300 || !strings.Contains(text, "cannot be read") {
		t.Error(text)
	}
	const newer = "is of schema 2, and this version of holdfast knows 1; use the version that wrote it, or a later one"
	for text, want := range map[string]string{
		`{"kind":"run"}`: "it has no schema", `{"schema":2,"kind":"run"}`: newer, `{"schema":2,"kind":["run"]}`: newer,
		`{"schema":1,"kind":"run","blessing":"b"}`:         `has an unknown field "blessing", which this version of holdfast would lose; use the version that wrote it, or a later one`,
		`{"schema":1,"kind":"run","drain":{"blessing":1}}`: `has an unknown field "blessing", which this version of holdfast would lose; use the version that wrote it, or a later one`,
	} {
		hold, problem := hostscript.ReadHold(engine.Output{Stdout: text})
		if hold != nil || !strings.HasSuffix(problem, want) {
			t.Errorf("%s: %v, %q", text, hold, problem)
		}
	}
}
