package lab

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"holdfast/cmd/holdfast-lab/internal/netns"
)

// TestTheLastLabRestoresTheInotifyLimit: a lab that goes down must not lower the limit under the hosts of another.
func TestTheLastLabRestoresTheInotifyLimit(t *testing.T) {
	dir := t.TempDir()
	w := watchLimit{setting: filepath.Join(dir, "setting"), saved: filepath.Join(dir, "saved"), lock: dir}
	set := func(text string) {
		if err := os.WriteFile(w.setting, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(step string, err error, want string) {
		t.Helper()
		have, readErr := os.ReadFile(w.setting)
		if err != nil || readErr != nil || string(have) != want {
			t.Fatalf("%s: limit %q, %v, %v; want %q", step, have, err, readErr, want)
		}
	}
	none := func() ([]netns.Namespace, error) { return nil, nil }
	one := func() ([]netns.Namespace, error) { return []netns.Namespace{"other"}, nil }

	set("128\n")
	check("first up", w.raiseLimit(), "8192")
	check("second up", w.raiseLimit(), "8192")
	check("first down", w.restoreLimit(one), "8192")
	check("second down", w.restoreLimit(none), "128\n")
	check("down again", w.restoreLimit(none), "128\n")

	set("20000\n")
	check("up with a high limit", w.raiseLimit(), "20000\n")
	check("down with a high limit", w.restoreLimit(none), "20000\n")

	if err := w.restoreLimit(func() ([]netns.Namespace, error) { return nil, errors.New("unreadable") }); err == nil {
		t.Error("no error though the other labs are not known")
	}
}
