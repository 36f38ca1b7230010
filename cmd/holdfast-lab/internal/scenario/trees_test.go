package scenario

import (
	"slices"
	"strings"
	"testing"
)

// listedTree returns output of treeScript: a directory, a link, and files. The
// digest of a file has one digit.
func listedTree(t *testing.T, files map[string]string) tree {
	t.Helper()
	nodes, sums := []string{"d\t755 0:0\t\t/etc/", "l\t777 0:0\ta b\t/etc/link"}, []string{}
	for name, digit := range files {
		nodes = append(nodes, "f\t644 0:0\t\t"+name)
		sums = append(sums, strings.Repeat(digit, 64)+"  "+name)
	}
	got, err := parseTree(strings.Join(nodes, "\n") + "\n==\n" + strings.Join(sums, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestTrees(t *testing.T) {
	old := listedTree(t, map[string]string{"/etc/both": "1", "/etc/gone file": "2"})
	fresh := listedTree(t, map[string]string{"/etc/both": "3", "/etc/come": "4"})
	for name, c := range map[string]struct {
		files map[string]string
		wrong string // path that matches neither the old nor the new tree
	}{
		"old":                 {map[string]string{"/etc/both": "1", "/etc/gone file": "2"}, ""},
		"some of each":        {map[string]string{"/etc/both": "3", "/etc/gone file": "2", "/etc/come": "4"}, ""},
		"temporary":           {map[string]string{"/etc/both": "1", "/etc/.holdfast-0123456789abcdef": "9"}, ""},
		"half written":        {map[string]string{"/etc/both": "9", "/etc/come": "4"}, "/etc/both"},
		"away for a moment":   {map[string]string{"/etc/come": "4"}, "/etc/both"},
		"a file of nobody's":  {map[string]string{"/etc/both": "1", "/etc/other": "4"}, "/etc/other"},
		"half of a new file":  {map[string]string{"/etc/both": "1", "/etc/come": "9"}, "/etc/come"},
		"half of an old file": {map[string]string{"/etc/both": "1", "/etc/gone file": "9"}, "/etc/gone file"},
	} {
		t.Run(name, func(t *testing.T) {
			wrong := listedTree(t, c.files).diffFromBoth(old, fresh)
			if c.wrong == "" && len(wrong) > 0 || c.wrong != "" && !slices.ContainsFunc(wrong, func(s string) bool { return strings.HasPrefix(s, c.wrong+": ") }) {
				t.Errorf("wrong is %q, want %q", wrong, c.wrong)
			}
		})
	}
	if wrong := old.diffFrom(old); len(wrong) > 0 {
		t.Errorf("a tree differs from itself: %q", wrong)
	}
	if wrong := old.diffFrom(fresh); len(wrong) != 3 {
		t.Errorf("against another tree: %q, want three differences", wrong)
	}
	if _, err := parseTree("d\t755"); err == nil {
		t.Error("half a line is taken")
	}
}
