package lab

import (
	"strings"
	"testing"
)

// TestALabIsUsedOnce checks that a second command is refused, with the name of the first, until the first ends.
func TestALabIsUsedOnce(t *testing.T) {
	t.Parallel()
	dir := makeFolder(t)
	release, err := labIn(t, dir).Reserve("test")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := labIn(t, dir).Reserve("demo"); err == nil || !strings.Contains(err.Error(), "in use by holdfast-lab test (process ") {
			t.Errorf("a second command: %v", err)
		}
	}
	release()
	if release, err = labIn(t, dir).Reserve("demo"); err != nil {
		t.Fatal(err)
	}
	release()
	if err := checkOwnFolder(dir); err != nil {
		t.Error(err)
	}
}
