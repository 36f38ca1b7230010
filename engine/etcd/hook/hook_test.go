package hook_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/etcd/hook"
)

// fakeBastion answers commands, and notes their environment.
type fakeBastion struct {
	reply engine.Output
	err   error
	env   []string
	ended bool // the context of the last command had a deadline
}

func (b *fakeBastion) Execute(ctx context.Context, env []string) (engine.Output, error) {
	b.env = env
	_, b.ended = ctx.Deadline()
	return b.reply, b.err
}

func newHook(t *testing.T, b *fakeBastion) hook.Hook {
	t.Helper()
	return hook.Hook{
		Cluster: "main", Run: "r1", Folder: filepath.Join(t.TempDir(), "hooks", "site"), Execute: b.Execute,
		Endpoints: func(context.Context) ([]string, error) {
			return []string{"https://10.0.0.1:2379", "https://10.0.0.2:2379"}, nil
		},
	}
}

func checkDue(t *testing.T, h hook.Hook, want bool) {
	t.Helper()
	if due, err := h.IsDue(); due != want || err != nil {
		t.Errorf("due %t, %v", due, err)
	}
}

// TestHook checks that the command stays due until it succeeds, and that it gets the client URLs.
func TestHook(t *testing.T) {
	t.Parallel()
	b := &fakeBastion{reply: engine.Output{Code: 3, Stderr: strings.Repeat("x", 5000) + "\nno \x1b[2J route"}}
	h := newHook(t, b)
	checkDue(t, h, false)
	for range 2 {
		if err := h.MarkDue(); err != nil {
			t.Fatal(err)
		}
	}
	checkDue(t, h, true)
	err := h.RunCommand(t.Context())
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), `no \x1b[2J route`) || len(err.Error()) > 2000 {
		t.Error(err)
	}
	checkDue(t, h, true)
	b.err = errors.New("it has not ended")
	if err := h.RunCommand(t.Context()); !errors.Is(err, b.err) {
		t.Error(err)
	}
	checkDue(t, h, true)
	b.reply, b.err = engine.Output{}, nil
	if err := h.RunCommand(t.Context()); err != nil {
		t.Error(err)
	}
	checkDue(t, h, false)
	if want := []string{"HOLDFAST_CLUSTER=main", "HOLDFAST_ENDPOINTS=https://10.0.0.1:2379,https://10.0.0.2:2379", "HOLDFAST_RUN=r1"}; !slices.Equal(b.env, want) || !b.ended {
		t.Errorf("%q, deadline %t", b.env, b.ended)
	}
}

// TestHookWithoutEndpoints checks that the command does not run with URLs that are not known.
func TestHookWithoutEndpoints(t *testing.T) {
	t.Parallel()
	b := &fakeBastion{}
	h := newHook(t, b)
	unknown := errors.New("no member answers")
	h.Endpoints = func(context.Context) ([]string, error) { return nil, unknown }
	if err := h.MarkDue(); err != nil {
		t.Fatal(err)
	}
	if err := h.RunCommand(t.Context()); !errors.Is(err, unknown) || b.env != nil {
		t.Errorf("%v, %q", err, b.env)
	}
	checkDue(t, h, true)
}

// TestHookThatCannotBeRemembered checks that a change is not begun if nobody would remember the command.
func TestHookThatCannotBeRemembered(t *testing.T) {
	t.Parallel()
	h := newHook(t, &fakeBastion{})
	if err := os.WriteFile(filepath.Dir(filepath.Dir(h.Folder))+"/hooks", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.MarkDue(); err == nil {
		t.Error("it is remembered below a file")
	}
	if _, err := h.IsDue(); err == nil {
		t.Error("it is not due, although nobody knows")
	}
}
