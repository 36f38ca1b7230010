package scenario

import (
	_ "embed" // embeds scripts
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast/cmd/holdfast-lab/internal/lab"
)

// tree describes those folders of a host that configurations write to. It has the
// kind, mode and owner of each resource by path, and its digest or target, but no
// times.
type tree map[string]string

//go:embed sh/tree.sh
var treeScript string

func (s *stage) readTree(h *lab.Host) (tree, error) {
	out, err := h.Output(s.ctx, rootCommand(treeScript))
	if err != nil {
		return nil, err
	}
	t, err := parseTree(out)
	if err != nil {
		return nil, fmt.Errorf("read tree of %s: %w", h.Name, err)
	}
	return t, nil
}

func parseTree(text string) (tree, error) {
	t := tree{}
	nodes, sums, _ := strings.Cut(text, "\n==\n")
	for line := range strings.Lines(nodes) {
		w := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 4)
		if len(w) != 4 {
			return nil, fmt.Errorf("line %q", line)
		}
		if w[0] == "l" {
			w[1] = "-> " + w[2]
		}
		t[w[3]] = w[0] + " " + w[1]
	}
	for line := range strings.Lines(sums) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok || len(sum) != 64 {
			return nil, fmt.Errorf("line %q", line)
		}
		t[name] += " " + sum[:12]
	}
	return t, nil
}

func (t tree) diffFrom(want tree) []string {
	var wrong []string
	for _, name := range allPaths(t, want) {
		if t[name] != want[name] {
			wrong = append(wrong, fmt.Sprintf("%s: %s, not %s", name, entryOrAbsent(t[name]), entryOrAbsent(want[name])))
		}
	}
	return wrong
}

// diffFromBoth lists the resources that match neither tree. It ignores the
// temporary files that holdfast keeps next to a file until it renames them.
func (t tree) diffFromBoth(a, b tree) []string {
	var wrong []string
	for _, name := range allPaths(t, a, b) {
		if t[name] != a[name] && t[name] != b[name] && !isTemporary(name) {
			wrong = append(wrong, fmt.Sprintf("%s: %s, neither %s nor %s", name, entryOrAbsent(t[name]), entryOrAbsent(a[name]), entryOrAbsent(b[name])))
		}
	}
	return wrong
}

func allPaths(trees ...tree) []string {
	all := map[string]string{}
	for _, t := range trees {
		maps.Copy(all, t)
	}
	return slices.Sorted(maps.Keys(all))
}

func entryOrAbsent(entry string) string {
	if entry == "" {
		return "absent"
	}
	return entry
}

func isTemporary(name string) bool {
	base := path.Base(name)
	return strings.Contains(name, "/.holdfast-") || strings.HasPrefix(base, ".") && strings.Contains(base, "holdfast") || strings.HasSuffix(base, ".holdfast")
}

func cmdTree(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: tree NAME HOST…")
	}
	s := stageOf(ts)
	for _, name := range args[1:] {
		t, err := s.readTree(s.findHost(ts, name))
		ts.Check(err)
		s.trees[args[0]+" "+name] = t
	}
}

func cmdSame(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: same NAME HOST…")
	}
	s := stageOf(ts)
	for _, name := range args[1:] {
		want := s.trees[args[0]+" "+name]
		if want == nil {
			ts.Fatalf("no tree of %s is known as %s", name, args[0])
		}
		t, err := s.readTree(s.findHost(ts, name))
		ts.Check(err)
		if wrong := t.diffFrom(want); len(wrong) > 0 {
			ts.Fatalf("%s is not as it was:\n%s", name, strings.Join(wrong, "\n"))
		}
	}
	cmdClean(ts, false, args[1:])
}

func cmdClean(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: clean HOST…")
	}
	s := stageOf(ts)
	for _, name := range args {
		h := s.findHost(ts, name)
		t, err := s.readTree(h)
		ts.Check(err)
		for path := range t {
			if isTemporary(path) {
				ts.Fatalf("%s has %s left over", name, path)
			}
		}
		left, err := h.Output(s.ctx, `sudo sh -c 'cd /var/lib/holdfast 2>/dev/null || exit 0; find tx -mindepth 1 2>/dev/null; find . -maxdepth 1 -name ".?*"'`)
		ts.Check(err)
		if left != "" {
			ts.Fatalf("%s has left over below /var/lib/holdfast: %s", name, left)
		}
	}
}
