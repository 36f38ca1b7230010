package hostconfig_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"holdfast/engine/pathtest"
)

// TestRoomsHaveSecretNames checks that nobody can guess the name of a room, or the name of the
// token file in it: each has 128 random bits of its own.
func TestRoomsHaveSecretNames(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("sh/prepare.sh")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 3 {
		out, err := exec.CommandContext(t.Context(), pathtest.Shell(), "-euc", "room='' token=''\n"+string(script)+"\nname_room\necho \"$room\" \"$token\"").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		names := regexp.MustCompile(`^\.holdfast-([0-9a-f]{32}) ([0-9a-f]{32})\n$`).FindStringSubmatch(string(out))
		if names == nil {
			t.Fatalf("the names are %q", out)
		}
		for _, name := range names[1:] {
			if seen[name] || strings.Count(name, name[:1]) == len(name) {
				t.Errorf("the name %s is not random", name)
			}
			seen[name] = true
		}
	}
}
