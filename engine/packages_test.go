package engine_test

import (
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// class is one of the three classes of packages.
type class string

const (
	product     class = "product"
	testSupport class = "test support"
	lab         class = "lab"
)

func classifyPackage(dir string) class {
	switch {
	case isWithin(dir, []string{"cmd/holdfast-lab"}):
		return lab
	case isTestPackage(dir):
		return testSupport
	}
	return product
}

// TestPackageClasses checks that DESIGN.md lists each package once, in the table
// of its class, and has the sizes of the classes. So a new package is put into
// a class by a person.
func TestPackageClasses(t *testing.T) {
	design := readDesign(t)
	dirs := map[string]bool{}
	for _, s := range parseSources(t, "engine", "modules", "cmd") {
		dirs[s.dir] = true
	}
	listed := map[string]class{}
	for title, c := range map[string]class{"### Product\n": product, "### Test support\n": testSupport} {
		_, section, found := strings.Cut(design, title)
		if !found {
			t.Fatalf("DESIGN.md has no section %q", title)
		}
		section, _, _ = strings.Cut(section, "\n#")
		for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllStringSubmatch(section, -1) {
			for dir := range strings.SplitSeq(row[1], ", ") {
				dir = strings.Trim(dir, "`")
				if !dirs[dir] {
					t.Errorf("DESIGN.md lists %s, which is no package", dir)
				}
				if listed[dir] != "" {
					t.Errorf("DESIGN.md lists %s twice", dir)
				}
				listed[dir] = c
			}
		}
	}
	for dir := range dirs {
		if want := classifyPackage(dir); want != lab && listed[dir] != want {
			t.Errorf("DESIGN.md does not list package %s in the table of the class %q; add it there, or to testPackages", dir, want)
		}
	}
	checkSizes(t, design)
}

// checkSizes compares the sizes in DESIGN.md with the tree. They may differ by a
// tenth, so that not every change must correct them.
func checkSizes(t *testing.T, design string) {
	t.Helper()
	code, tests := countLines(t)
	row := regexp.MustCompile(`(?m)^\| (product|test support|lab) \| .* \| ([0-9,]+) \| ?([0-9,]*) ?\|$`)
	rows := row.FindAllStringSubmatch(design, -1)
	if len(rows) != 3 {
		t.Fatalf("DESIGN.md has the sizes of %d classes, not of 3", len(rows))
	}
	for _, r := range rows {
		c := class(r[1])
		t.Logf("%s: %d lines, and %d of tests", c, code[c], tests[c])
		for stated, counted := range map[string]int{r[2]: code[c], r[3]: tests[c]} {
			n, err := strconv.Atoi(strings.ReplaceAll(stated, ",", ""))
			if stated == "" {
				continue
			}
			if err != nil || n < counted*9/10 || n > counted*11/10 {
				t.Errorf("DESIGN.md says %s lines for the class %q; there are %d", stated, c, counted)
			}
		}
	}
}

// countLines returns the lines of code and of tests of each class: of Go files,
// and of the scripts in folders named sh.
func countLines(t *testing.T) (code, tests map[class]int) {
	t.Helper()
	code, tests = map[class]int{}, map[class]int{}
	dirs := map[string]bool{}
	for _, s := range parseSources(t, "engine", "modules", "cmd") {
		dirs[s.dir] = true
		if s.test() {
			tests[classifyPackage(s.dir)] += s.lines
		} else {
			code[classifyPackage(s.dir)] += s.lines
		}
	}
	for dir := range dirs {
		scripts, err := filepath.Glob(path.Join("..", dir, "sh", "*.sh"))
		if err != nil {
			t.Fatal(err)
		}
		for _, script := range scripts {
			text, err := os.ReadFile(script)
			if err != nil {
				t.Fatal(err)
			}
			code[classifyPackage(dir)] += strings.Count(string(text), "\n")
		}
	}
	return code, tests
}

func readDesign(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// bareGoroutines lists the files that may start a goroutine without waiting for
// it, with the reason.
var bareGoroutines = map[string]string{
	"engine/etcd/scrape.go":  "a slow scrape outlives the sample that began it",
	"cmd/holdfast/site.go":   "the evaluation of an inventory cannot be cancelled; the program ends",
	"engine/report/queue.go": "a view that nobody reads may never return; the program ends",
}

// TestGoroutinesAreAwaited checks that all other goroutines start through conc,
// which waits for them and passes panics on.
func TestGoroutinesAreAwaited(t *testing.T) {
	var found []string
	for _, s := range parseSources(t, "engine", "modules", "cmd/holdfast") {
		if s.test() || classifyPackage(s.dir) != product {
			continue
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok {
				found = append(found, s.path())
				if bareGoroutines[s.path()] == "" {
					t.Errorf("%s: go statement; start goroutines through conc", s.fset.Position(n.Pos()))
				}
			}
			return true
		})
	}
	for file := range bareGoroutines {
		if !slices.Contains(found, file) {
			t.Errorf("%s starts no goroutine any more; take it out of the list", file)
		}
	}
}
