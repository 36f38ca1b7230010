package connection

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/content"
	"holdfast/engine/remote"
	"holdfast/engine/remote/sshtest"
	"holdfast/engine/rollout"
	"holdfast/modules/hostconfig/observe"
)

// emptyRepository returns a repository without objects.
func emptyRepository(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "config"), []byte("[core]\nmode=archive\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestContentIsKnownBeforeAPortOpens checks that a host is not asked for a port before the bastion knows that it has the
// content. The host refuses ports, and the error is about the mirror.
func TestContentIsKnownBeforeAPortOpens(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{NoForward: true})
	hosts := NewHosts(remote.Options{Agent: "none"}, observe.ReadFileScript)
	defer hosts.Close()
	hosts.ServeContents(content.NewServer(engine.Mirror{Repository: emptyRepository(t)}))
	c, err := hosts.Connect(t.Context(), hostAt("h1", s))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Run(t.Context(), rollout.Script{Text: "true", Content: &engine.Content{Commit: strings.Repeat("1", 64)}})
	if !errors.As(err, &rollout.NoContent{}) || !strings.Contains(err.Error(), "lacks 1 of its objects") {
		t.Errorf("%v, want an error about the mirror", err)
	}
}

// TestStoppedHostHasNoContentError checks that a host that the run stops while its content is prepared fails for the
// reason of the stop, not because of the mirror.
func TestStoppedHostHasNoContentError(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{})
	hosts := NewHosts(remote.Options{Agent: "none"}, observe.ReadFileScript)
	defer hosts.Close()
	hosts.ServeContents(content.NewServer(engine.Mirror{Repository: emptyRepository(t)}))
	c, err := hosts.Connect(t.Context(), hostAt("h1", s))
	if err != nil {
		t.Fatal(err)
	}
	stopCause := errors.New("stopped by the operator")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(stopCause)
	_, err = c.Run(ctx, rollout.Script{Text: "true", Content: &engine.Content{Commit: strings.Repeat("1", 64)}})
	if !errors.Is(err, stopCause) || errors.As(err, &rollout.NoContent{}) {
		t.Errorf("%v, want the reason of the stop", err)
	}
}
