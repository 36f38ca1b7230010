package registries

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestAddMirrors compares with the output of the Machine Config Operator's own
// code, byte for byte.
func TestAddMirrors(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/mirrorsets.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+2 < len(archive.Files); i += 3 {
		base, sets, want := archive.Files[i], archive.Files[i+1], archive.Files[i+2]
		t.Run(strings.TrimSuffix(base.Name, "/base"), func(t *testing.T) {
			got, wrong := AddMirrors(base.Data, parseSets(string(sets.Data)))
			if refused := string(want.Data) == "refused\n"; refused != (wrong != "") {
				t.Fatalf("refused: %q, want %t", wrong, refused)
			} else if !refused && !bytes.Equal(got, want.Data) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want.Data)
			}
			if problems := Check(got, false); len(problems) > 0 {
				t.Errorf("the result is refused: %v", problems)
			}
		})
	}
}

// parseSets reads lines such as "digest never SOURCE MIRROR MIRROR".
func parseSets(text string) []MirrorSet {
	var list []MirrorSet
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		s := MirrorSet{ByTag: words[0] == "tag"}
		if words = words[1:]; words[0] == "never" {
			s.NeverSource, words = true, words[1:]
		}
		s.Source, s.Mirrors = words[0], words[1:]
		list = append(list, s)
	}
	return list
}

func TestAddMirrorsRefuses(t *testing.T) {
	for base, want := range map[string]string{"[[": "is not valid TOML", "[registries.search]\nregistries = ['a']": "format version 1"} {
		if _, wrong := AddMirrors([]byte(base), []MirrorSet{{Source: "a", Mirrors: []string{"b"}}}); !strings.Contains(wrong, want) {
			t.Errorf("%q: %q", base, wrong)
		}
	}
}
