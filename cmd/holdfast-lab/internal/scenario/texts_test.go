package scenario

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// forEachText calls check with the commands and the files of each scenario.
func forEachText(t *testing.T, check func(name string, commands []string, files map[string]string)) {
	t.Helper()
	all, err := listScripts()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		text, err := fs.ReadFile(scripts, s.path)
		if err != nil {
			t.Fatal(err)
		}
		archive, files := txtar.Parse(text), map[string]string{}
		for _, f := range archive.Files {
			files[f.Name] = string(f.Data)
		}
		check(s.name, strings.Split(strings.TrimSpace(string(archive.Comment)), "\n"), files)
	}
}

// TestNegationEndsScript: with "set -e", a shell goes on after "! COMMAND" that fails. Only as the last line it is the result of the script.
func TestNegationEndsScript(t *testing.T) {
	negated := regexp.MustCompile(`^\s*! `)
	forEachText(t, func(name string, commands []string, files map[string]string) {
		for file, text := range files {
			if !slices.ContainsFunc(commands, func(c string) bool { return strings.HasPrefix(c, "script "+file+" ") }) {
				continue
			}
			lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
			for i, line := range lines[:len(lines)-1] {
				if negated.MatchString(line) && !strings.HasSuffix(line, " || exit 0") { // that one ends a loop that waits
					t.Errorf("%s: %s:%d: nothing ends the script: %s", name, file, i+1, line)
				}
			}
		}
	})
}
