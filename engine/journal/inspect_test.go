package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/event"
)

const (
	startLine   = `{"schema":1,"seq":1,"time":"2026-01-01T00:00:00Z","run":"r","type":"run-started","start":{"site":"s","holder":"ann@b","pid":1,"version":"x"}}` + "\n"
	warningLine = `{"schema":1,"seq":2,"time":"2026-01-01T00:00:01Z","run":"r","type":"warning","message":"m"}` + "\n"
	endLine     = `{"schema":1,"seq":3,"time":"2026-01-01T00:00:02Z","run":"r","type":"run-ended","end":{"exit":0}}` + "\n"
	newerLine   = `{"schema":2,"seq":2,"time":"2026-01-01T00:00:01Z","run":"r","type":"warning"}` + "\n"
	unknownLine = `{"schema":1,"seq":2,"time":"2026-01-01T00:00:01Z","run":"r","type":"host-blessed","blessing":[1]}` + "\n"
)

// TestInspect checks that a damaged journal is read up to the damage, and that the
// place of the damage is named.
func TestInspect(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		text   string
		events int
		want   Condition
		err    string
	}{
		"whole":         {startLine + warningLine + endLine, 3, Condition{}, ""},
		"no end":        {startLine + warningLine, 2, Condition{}, ""},
		"cut":           {startLine + warningLine + endLine[:40], 2, Condition{Cut: true}, ""},
		"unknown event": {startLine + unknownLine + endLine, 3, Condition{}, ""},
		"damaged":       {startLine + "{]\n" + endLine, 1, Condition{Problem: "r.jsonl:2: invalid character"}, ""},
		"not a journal": {"<html>\n", 0, Condition{}, "r.jsonl:1: invalid character"},
		"newer":         {startLine + newerLine, 1, Condition{}, "r.jsonl:2: the event has schema 2, and this version of holdfast reads schema 1"},
		"empty":         {"", 0, Condition{}, "r.jsonl has no event"},
		"only a part":   {startLine[:30], 0, Condition{}, "r.jsonl has no event"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "r.jsonl"), []byte(x.text), 0o600); err != nil {
				t.Fatal(err)
			}
			events := 0
			c, err := Inspect(dir, "r", t.TempDir(), func(event.Event) error { events++; return nil })
			if x.err == "" && err != nil || x.err != "" && (err == nil || !strings.Contains(err.Error(), x.err)) {
				t.Errorf("the error is %v, not %q", err, x.err)
			}
			if events != x.events || c.Cut != x.want.Cut || c.UnderWay || !strings.Contains(c.Problem, x.want.Problem) || (c.Problem == "") != (x.want.Problem == "") {
				t.Errorf("%d events, %+v; want %d, %+v", events, c, x.events, x.want)
			}
		})
	}
}

// TestInspectUnderWay checks that a run without an end is under way only while
// its process lives: a roll-out has the lock of the site, and the work of a person has only its mark.
func TestInspectUnderWay(t *testing.T) {
	t.Parallel()
	dir, state, run := t.TempDir(), t.TempDir(), newTestRun()
	if err := os.WriteFile(filepath.Join(dir, run+".jsonl"), []byte(startLine), 0o600); err != nil {
		t.Fatal(err)
	}
	each := func(event.Event) error { return nil }
	for name, live := range map[string]func() (func(), error){
		"lock": func() (func(), error) { return LockSite(dir, "s", LockInfo{Run: run}) },
		"mark": func() (func(), error) { return MarkLiving(state, run) },
	} {
		end, err := live()
		if err != nil {
			t.Fatal(err)
		}
		if c, err := Inspect(dir, run, state, each); err != nil || !c.UnderWay {
			t.Error(name, c, err)
		}
		end()
		if c, err := Inspect(dir, run, state, each); err != nil || c.UnderWay {
			t.Error(name, c, err)
		}
	}
	full := errors.New("full")
	if _, err := Inspect(dir, run, state, func(event.Event) error { return full }); !errors.Is(err, full) {
		t.Error(err)
	}
}
