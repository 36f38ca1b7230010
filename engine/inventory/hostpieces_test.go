package inventory_test

import (
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"holdfast/engine/inventory"
)

// TestHostsInPieces draws files from lines that belong to host blocks, comments, texts and mistakes. Whether its
// hosts are parsed in pieces must not show in its inventory, its warnings or its errors.
func TestHostsInPieces(t *testing.T) {
	lines := []string{
		"host \"a%d\" {\n  address = \"10.0.0.%d\"\n  pool = \"w\"\n}\n", "host \"b%d\" {\n  address = \"b%d\"\n  pool = \"w\"\n  zone = local.z\n}\n",
		"hosts \"r%d\" {\n  range = \"1-3\"\n  address = \"r%d-${id}\"\n  pool = \"w\"\n}\n", "host \"c%d\" {\n  address = \"c%d\"\n  pool = \"w\"\n  ssh {\n    port = 23\n  }\n}\n",
		"host \"d%d\" {\n  address = join(\"\", [for x in [\"d\", \"%d\"] : x])\n  pool = \"w\"\n}\n", "locals {\n  l%d = %d\n}\n", "# %d %d\n", "\n", "// x\n", "  \n",
		"etcd_cluster \"e%d\" {\n  client_port = 1%d\n}\nhost \"m%[1]d\" {\n  address = \"m%[1]d\"\n  pool = \"w\"\n  etcd_cluster = \"e%[1]d\"\n}\n",
	}
	mistakes := []string{
		"/*\n", "*/\n", "x = <<E\n", "E\n", "locals {\n", "}\n", "host \"a\" {\n", "  pool = \"w\"\n", "hosts \"r\" {\n", "  address = [\n", "]\n", "\"\n", "\ufeff", "\r\n", "x = 1\n",
		"host \"z\" {\n  address = \"z\"\n  pool = \"v\"\n}\n", "host \"y\" {\n  address = \"y\"\n}\n", "host \"y\" { pool = \"w\" }\n", "host \"x\" \"x\" {\n}\n", "\xff",
	}
	rapid.Check(t, func(t *rapid.T) {
		n := 0
		text := "site \"s\" {}\npool \"w\" {}\nlocals {\n  z = \"z\"\n}\n"
		for range rapid.IntRange(1, 30).Draw(t, "lines") {
			n++
			line := rapid.SampledFrom(lines).Draw(t, "line")
			if strings.Contains(line, "%") {
				line = fmt.Sprintf(line, n, n)
			}
			text += line
		}
		for range rapid.IntRange(0, 2).Draw(t, "mistakes") {
			at := rapid.IntRange(0, strings.Count(text, "\n")).Draw(t, "at")
			all := strings.SplitAfter(text, "\n")
			all[at] = rapid.SampledFrom(mistakes).Draw(t, "mistake") + all[at]
			text = strings.Join(all, "")
		}
		src := func() inventory.Source {
			return inventory.Source{FS: fstest.MapFS{"a.hcl": {Data: []byte(text)}}, Paths: []string{"a.hcl"}}
		}
		whole, err := inventory.LoadWhole(src())
		pieces, errPieces := inventory.LoadInPieces(src())
		if !reflect.DeepEqual(whole, pieces) || fmt.Sprint(err) != fmt.Sprint(errPieces) {
			t.Fatalf("whole: %+v %v\nin pieces: %+v %v\nof\n%s", whole, err, pieces, errPieces, text)
		}
		if _, parts := inventory.PiecesOf(text); strings.Join(parts, "") != text {
			t.Fatalf("pieces %q of %q", parts, text)
		}
	})
}

// TestPieces checks which blocks are parsed later, so that the memory of a large inventory stays small.
func TestPieces(t *testing.T) {
	host := "host \"a\" {\n  address = \"a\"\n  pool = \"w\"\n}\n"
	for _, tc := range []struct {
		name, text    string
		later, pieces int
	}{
		{"small hosts", strings.Repeat(host, 100), 100, 5},
		{"comments and empty lines", strings.Repeat("\n# rack\n"+host, 18), 18, 2},
		{"kinds", host + "hosts" + host[4:] + host, 3, 3},
		{"a large host", host + strings.Replace(host, "\"a\"", "\""+strings.Repeat("x", 1000)+"\"", 1) + host, 2, 3},
		{"much nesting", host + strings.Replace(host, "= \"a\"", "= "+strings.Repeat("[", 91), 1) + host, 2, 3},
		{"other blocks", "site \"s\" {}\n" + host + "pool \"w\" {\n}\n" + host, 2, 4},
		{"without an end", host + strings.TrimSuffix(host, "}\n"), 1, 2},
	} {
		later, pieces := inventory.PiecesOf(tc.text)
		if later != tc.later || len(pieces) != tc.pieces {
			t.Errorf("%s: %d blocks are parsed later, in %d pieces; want %d in %d: %q", tc.name, later, len(pieces), tc.later, tc.pieces, pieces)
		}
	}
}

// TestPipeIsReadOnce checks that a large inventory with an error can come from a pipe.
func TestPipeIsReadOnce(t *testing.T) {
	_, err := inventory.LoadInPieces(inventory.Source{FS: onceFS{map[string]bool{}, fstest.MapFS{"a": {Data: []byte("site \"s\" {}\npool \"w\" {}\nhost \"a\" {\n  address = \"a\"\n}\n")}, "v": {Data: []byte("x = 1\n")}}}, Paths: []string{"a"}, VarFiles: []string{"v"}})
	if err == nil || !strings.Contains(err.Error(), "a:3:6: host has no pool") || !strings.Contains(err.Error(), `v:1:1: no variable "x"`) {
		t.Error(err)
	}
}

// onceFS has files that can be opened once.
type onceFS struct {
	opened map[string]bool
	fstest.MapFS
}

func (o onceFS) Open(name string) (fs.File, error) {
	if o.opened[name] {
		return nil, fs.ErrClosed
	}
	o.opened[name] = true
	return o.MapFS.Open(name)
}
