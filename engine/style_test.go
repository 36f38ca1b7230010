package engine_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	maxFunctionLines = 60
	maxParameters    = 4
)

// maxTooLong and maxTooWide are the numbers of functions that may exceed a
// limit. These numbers must never increase.
const (
	maxTooLong = 0
	maxTooWide = 0
)

// TestFunctionsAreShort checks the limits on lines and parameters.
func TestFunctionsAreShort(t *testing.T) {
	var long, wide []string
	for _, s := range parseSources(t, "engine", "modules", "cmd") {
		if s.test() {
			continue
		}
		for _, d := range s.tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			at := s.fset.Position(f.Pos())
			if lines := s.fset.Position(f.End()).Line - at.Line + 1; lines > maxFunctionLines {
				long = append(long, fmt.Sprintf("%s: %s has %d lines", at, f.Name.Name, lines))
			}
			if n := f.Type.Params.NumFields(); n > maxParameters {
				wide = append(wide, fmt.Sprintf("%s: %s has %d parameters", at, f.Name.Name, n))
			}
		}
	}
	if len(long) != maxTooLong {
		t.Errorf("%d functions have more than %d lines, not %d; split one, or lower maxTooLong:\n%s", len(long), maxFunctionLines, maxTooLong, strings.Join(long, "\n"))
	}
	if len(wide) != maxTooWide {
		t.Errorf("%d functions have more than %d parameters, not %d; use a struct, or lower maxTooWide:\n%s", len(wide), maxParameters, maxTooWide, strings.Join(wide, "\n"))
	}
}

// TestSwitchesAreExhaustive checks that a switch over constants of one of our
// types has a case for each constant, or a default. So a new constant either
// fails this test, or somebody has decided about all other constants.
func TestSwitchesAreExhaustive(t *testing.T) {
	all := parseSources(t, "engine", "modules", "cmd")
	enums := enumsOf(all)
	if len(enums) < 10 {
		t.Fatalf("only %d enums were found", len(enums))
	}
	for _, s := range all {
		if s.test() {
			continue
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			if sw, ok := n.(*ast.SwitchStmt); ok && sw.Tag != nil {
				if missing := missingCases(s, sw, enums); len(missing) > 0 {
					t.Errorf("%s: the switch has no case for %s, and no default", s.fset.Position(sw.Pos()), strings.Join(missing, ", "))
				}
			}
			return true
		})
	}
}

// enumsOf maps each constant of a named type with several constants to all
// constants of that type, as "package directory.constant".
func enumsOf(all []source) map[string][]string {
	byType := map[string][]string{}
	for _, s := range all {
		if s.test() {
			continue
		}
		for _, d := range s.tree.Decls {
			group, ok := d.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			typ := ""
			for _, spec := range group.Specs {
				v := spec.(*ast.ValueSpec)
				if id, ok := v.Type.(*ast.Ident); ok {
					typ = id.Name
				} else if len(v.Values) > 0 {
					typ = ""
				}
				for _, name := range v.Names {
					if typ != "" && typ != "string" && typ != "int" && name.Name != "_" {
						byType[s.dir+"."+typ] = append(byType[s.dir+"."+typ], s.dir+"."+name.Name)
					}
				}
			}
		}
	}
	enums := map[string][]string{}
	for _, constants := range byType {
		if len(constants) > 1 {
			for _, c := range constants {
				enums[c] = constants
			}
		}
	}
	return enums
}

// missingCases returns the constants without a case. It returns nothing for a
// switch that has a default or is not over an enum.
func missingCases(s source, sw *ast.SwitchStmt, enums map[string][]string) []string {
	folders := map[string]string{}
	for _, p := range s.imports() {
		if dir, ok := strings.CutPrefix(p, "holdfast/"); ok {
			folders[path.Base(p)] = dir
		}
	}
	missing := map[string]bool{}
	seen := map[string]bool{}
	for _, stmt := range sw.Body.List {
		clause := stmt.(*ast.CaseClause)
		if clause.List == nil {
			return nil
		}
		for _, e := range clause.List {
			name := constantName(s.dir, e, folders)
			seen[name] = true
			for _, c := range enums[name] {
				missing[c] = true
			}
		}
	}
	maps.DeleteFunc(missing, func(c string, _ bool) bool { return seen[c] })
	return slices.Sorted(maps.Keys(missing))
}

func constantName(dir string, e ast.Expr, folders map[string]string) string {
	switch e := e.(type) {
	case *ast.Ident:
		return dir + "." + e.Name
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			return folders[x.Name] + "." + e.Sel.Name
		}
	}
	return ""
}

// The check of switches finds a missing case.
func TestMissingCasesAreFound(t *testing.T) {
	for text, want := range map[string]int{
		"switch x { case A: }":             2,
		"switch x { case A, B: case C: }":  0,
		"switch x { case A: default: }":    0,
		"switch x { case A: return }":      2,
		"switch x { case q.A, q.B: }":      1,
		"switch x { case 1: case y.Z(): }": 0,
	} {
		fset := token.NewFileSet()
		src := "package p\nimport " + strconv.Quote("holdfast/q") + "\ntype K int\nconst (\nA K = iota\nB\nC\n)\nfunc f() {" + text + "}"
		tree, err := parser.ParseFile(fset, "p.go", src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		s := source{dir: "p", name: "p.go", tree: tree, fset: fset}
		other := s
		other.dir = "q"
		got := 0
		ast.Inspect(tree, func(n ast.Node) bool {
			if sw, ok := n.(*ast.SwitchStmt); ok {
				got = len(missingCases(s, sw, enumsOf([]source{s, other})))
			}
			return true
		})
		if got != want {
			t.Errorf("%s: %d cases are missing, want %d", text, got, want)
		}
	}
}
