package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// FindRun returns the ID of a run. name is the whole ID, or the beginning of only one.
func FindRun(dir, name string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("list runs: %w", err)
	}
	var found []string
	for _, e := range entries {
		id := runID(e.Name())
		if id == name && id != "" {
			return id, nil
		}
		if id != "" && strings.HasPrefix(id, name) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fmt.Errorf("no run %q in %s; holdfast runs lists them", name, dir)
	}
	return "", fmt.Errorf("%q is the beginning of %d runs", name, len(found))
}
