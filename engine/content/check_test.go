package content_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/content"
)

// TestContentChecks: each fault of a mirror that stops all stagings is found, and the error names the mirror and the command
// that mends it.
func TestContentChecks(t *testing.T) {
	t.Parallel()
	folder, commit := makeMirror(t)
	check := func(m engine.Mirror, c engine.Content, wants ...string) {
		t.Helper()
		s := content.NewServer(m)
		defer func() { _ = s.Close() }()
		err := s.CheckComplete(t.Context(), c)
		if err == nil {
			err = s.VerifyContent(t.Context(), c)
		}
		if (err == nil) != (len(wants) == 0) {
			t.Errorf("%v", err)
		}
		for _, want := range wants {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%q is not in %v", want, err)
			}
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.VerifyContent(over, c); !errors.Is(err, context.Canceled) && len(wants) == 0 {
			t.Errorf("without time: %v", err)
		}
	}
	wanted := engine.Content{Commit: commit}
	check(engine.Mirror{Repository: folder}, wanted)
	check(engine.Mirror{Repository: filepath.Join(folder, "none")}, wanted, "no such file", "holdfast mirror --from URL")
	check(engine.Mirror{Layout: folder}, wanted, "the inventory names no repository")
	check(engine.Mirror{Repository: folder}, engine.Content{Commit: strings.Repeat("1", 64)}, "lacks 1 of its objects", folder, "holdfast mirror --from URL")
	check(engine.Mirror{Layout: filepath.Join(folder, "none")}, engine.Content{Image: "sha256:" + strings.Repeat("1", 64)}, "no such file", "holdfast mirror --from docker://")
	files, err := filepath.Glob(filepath.Join(folder, "objects", "*", "*.filez"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1 // as many bytes as before
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	damaged, _ := filepath.Rel(folder, files[0])
	check(engine.Mirror{Repository: folder}, wanted, damaged, folder, "holdfast mirror --from URL")
	check(engine.Mirror{Repository: folder}, engine.Content{Commit: commit, Have: commit}) // the host has the object already
}
