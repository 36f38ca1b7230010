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

// connectWithEmptyMirror connects to a host for which the bastion has a mirror without objects.
func connectWithEmptyMirror(t *testing.T, config sshtest.Config) rollout.Conn {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "config"), []byte("[core]\nmode=archive\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	hosts := NewHosts(remote.Options{Agent: "none"}, observe.ReadFileScript)
	t.Cleanup(hosts.Close)
	hosts.ServeContents(content.NewServer(engine.Mirror{Repository: folder}))
	c, err := hosts.Connect(t.Context(), hostAt("h1", sshtest.Start(t, config)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestContentIsKnownBeforeAPortOpens checks that a host is not asked for a port before the bastion knows that it has the
// content. The host refuses ports, and the error is about the mirror.
func TestContentIsKnownBeforeAPortOpens(t *testing.T) {
	t.Parallel()
	c := connectWithEmptyMirror(t, sshtest.Config{NoForward: true})
	_, err := c.Run(t.Context(), rollout.Script{Text: "true", Content: &engine.Content{Commit: strings.Repeat("1", 64)}})
	if !errors.As(err, &rollout.NoContent{}) || !strings.Contains(err.Error(), "lacks 1 of its objects") {
		t.Errorf("%v, want an error about the mirror", err)
	}
}

// TestStoppedHostHasNoContentError checks that a host that the run stops while its content is prepared fails for the
// reason of the stop, not because of the mirror.
func TestStoppedHostHasNoContentError(t *testing.T) {
	t.Parallel()
	c := connectWithEmptyMirror(t, sshtest.Config{})
	stopCause := errors.New("stopped by the operator")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(stopCause)
	_, err := c.Run(ctx, rollout.Script{Text: "true", Content: &engine.Content{Commit: strings.Repeat("1", 64)}})
	if !errors.Is(err, stopCause) || errors.As(err, &rollout.NoContent{}) {
		t.Errorf("%v, want the reason of the stop", err)
	}
}
