package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd/change"
	"holdfast/engine/event"
	"holdfast/engine/inventory"
	"holdfast/engine/rollout"
)

// TestPlanIsShownBeforeTheQuestion checks that the command shows the steps before it asks about
// them, also with --json. Then standard output has only events.
func TestPlanIsShownBeforeTheQuestion(t *testing.T) {
	t.Parallel()
	stdout, stderr := &os.File{}, &os.File{}
	for _, c := range []struct {
		json, asks bool
		want       io.Writer
	}{
		{false, false, stdout},
		{false, true, stdout},
		{true, true, stderr},
		{true, false, io.Discard},
	} {
		a := &console{stdout: stdout, stderr: stderr, json: c.json}
		if got := a.planWriter(c.asks); got != c.want {
			t.Errorf("json %v, asks %v: %v", c.json, c.asks, got)
		}
	}
}

// TestMembersTellTheirEnd checks that on_end gets the end of a change of members, and that its failure, or its slowness, is told and
// changes no exit code.
func TestMembersTellTheirEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command string
		result  error
		want    engine.ExitCode
		warning string
	}{
		"good":    {"cat >end.json; echo $HOLDFAST_SITE $HOLDFAST_EXIT $HOLDFAST_RUN >env", nil, engine.ExitOK, ""},
		"failed":  {"cat >end.json; echo $HOLDFAST_SITE $HOLDFAST_EXIT $HOLDFAST_RUN >env", errors.New("no"), engine.ExitFailed, ""},
		"no mail": {"echo no mail >&2; exit 7", nil, engine.ExitOK, "on_end: exit status 7: no mail; nobody may know how the run ended"},
		"slow":    {"exec sleep 60", nil, engine.ExitOK, "on_end: the command has not ended within 100ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			out, err := os.Create(filepath.Join(dir, "out"))
			if err != nil {
				t.Fatal(err)
			}
			a := &app{gently: func(bool) {}}
			a.stdout, a.stderr, a.soft, a.hard = out, out, t.Context(), t.Context()
			s := &site{loaded: inventory.Loaded{Dir: dir}, runsDir: filepath.Join(dir, "runs"), run: &rollout.Run{Options: rollout.Options{ID: "20261127-023000-abcdef"}}}
			s.inv.Site, s.inv.OnEnd = "berlin", &engine.OnEnd{Command: c.command, Timeout: engine.Duration(100 * time.Millisecond)}
			if c.warning == "" {
				s.inv.OnEnd.Timeout = engine.Duration(time.Minute)
			}
			run := &change.Run{Cluster: engine.Cluster{Name: "main"}}
			err = memberChange{app: a}.journalMembers(s, run, func(context.Context) error { return c.result })
			if got := exitCodeOf(t.Context(), err); got != c.want {
				t.Errorf("exit code %d, not %d: %v", got, c.want, err)
			}
			printed, err1 := os.ReadFile(out.Name())
			if c.warning != "" {
				if !strings.Contains(string(printed), c.warning) {
					t.Errorf("no %q in\n%s", c.warning, printed)
				}
				return
			}
			told, err2 := os.ReadFile(filepath.Join(dir, "end.json"))
			env, err3 := os.ReadFile(filepath.Join(dir, "env"))
			if err := errors.Join(err1, err2, err3); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(told), `"type":"run-ended"`) || !strings.Contains(string(told), `"cluster":"main"`) {
				t.Errorf("on_end got %s", told)
			}
			if want := "berlin " + map[engine.ExitCode]string{engine.ExitOK: "0", engine.ExitFailed: "3"}[c.want] + " 20261127-023000-abcdef\n"; string(env) != want {
				t.Errorf("on_end has the variables %s, not %s", env, want)
			}
		})
	}
}

// TestLostReaderStopsNoMemberChange checks that a change of members goes on, and is journaled, if the reader of its output goes away.
func TestLostReaderStopsNoMemberChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gone, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	a := &app{gently: func(bool) {}}
	a.stdout, a.stderr, a.soft, a.hard, a.json = gone, gone, t.Context(), t.Context(), true
	s := &site{loaded: inventory.Loaded{Dir: dir}, runsDir: filepath.Join(dir, "runs"), run: &rollout.Run{Options: rollout.Options{ID: "20261127-023000-abcdef"}}}
	run := &change.Run{Cluster: engine.Cluster{Name: "main"}}
	err = memberChange{app: a}.journalMembers(s, run, func(context.Context) error {
		return run.Emit(event.Event{Type: event.StepStarted, Step: "add learner"})
	})
	if err != nil {
		t.Error(err)
	}
	written, err := os.ReadFile(filepath.Join(s.runsDir, s.run.ID+".jsonl"))
	if err != nil || !strings.Contains(string(written), `"type":"run-ended"`) {
		t.Errorf("the journal lacks the end: %v\n%s", err, written)
	}
}
