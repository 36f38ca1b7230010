package engine_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// prose lists the fields with texts for people. Code writes and shows these
// texts, and decides nothing by them.
var prose = []string{"Reason", "Message", "Rule", "Step", "Outcome", "Cause", "Hint", "Note", "Stderr", "Problem"}

// readers lists the functions of package strings that take a text apart or
// search in it.
var readers = []string{
	"Contains", "ContainsAny", "HasPrefix", "HasSuffix", "Cut", "CutPrefix", "CutSuffix", "Split", "SplitN", "SplitAfter", "SplitSeq",
	"Fields", "FieldsSeq", "Index", "LastIndex", "EqualFold", "Count", "TrimPrefix", "TrimSuffix",
}

// textual lists the functions that may read texts, with the reason for each.
var textual = map[string]string{
	"engine/rollout/failure.go asFailure":             "a script names its step in its message, which must not be said twice",
	"engine/report/summary/shortcause.go StderrLines": "a line that the cause repeats is not shown twice",
	"engine/hostscript/holdprobe.go DescribeHolder":   "the script of a hold names itself in its message",
	"engine/config/documents.go reportButaneFinding":  "a finding of Butane's own has a text and no kind",
	"engine/etcd/answer.go isForbidden":               "an answer of etcd 3.5 in a stream has a text and no code",
}

// proseReads finds each place of a file where code decides by the text of such
// a field: where it searches the text, splits it, or compares it with a
// literal.
func proseReads(tree *ast.File, found func(function, what string)) {
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if call, ok := n.Fun.(*ast.SelectorExpr); ok && readsText(call) && slices.ContainsFunc(n.Args, isProse) {
					found(f.Name.Name, "strings."+call.Sel.Name)
				}
			case *ast.BinaryExpr:
				equal := n.Op == token.EQL || n.Op == token.NEQ
				if equal && (isProse(n.X) && isText(n.Y) || isProse(n.Y) && isText(n.X)) {
					found(f.Name.Name, n.Op.String())
				}
			case *ast.SwitchStmt:
				if n.Tag != nil && isProse(n.Tag) {
					found(f.Name.Name, "switch")
				}
			}
			return true
		})
	}
}

func readsText(call *ast.SelectorExpr) bool {
	pkg, ok := call.X.(*ast.Ident)
	return ok && pkg.Name == "strings" && slices.Contains(readers, call.Sel.Name)
}

// isProse reports whether an expression is, or contains, a field of prose.
func isProse(x ast.Expr) bool {
	inside := false
	ast.Inspect(x, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(prose, s.Sel.Name) {
			inside = true
		}
		return !inside
	})
	return inside
}

// isText reports whether an expression is a non-empty text literal. Code may
// ask whether a text is empty.
func isText(x ast.Expr) bool {
	l, ok := x.(*ast.BasicLit)
	return ok && l.Kind == token.STRING && len(l.Value) > len(`""`)
}

// Types decide. Texts are for people, and anybody may reword them.
func TestNothingIsDecidedByProse(t *testing.T) {
	used := map[string]bool{}
	for _, s := range parseSources(t, "engine", "modules", "cmd/holdfast") {
		if s.test() || isTestPackage(s.dir) {
			continue
		}
		proseReads(s.tree, func(function, what string) {
			where := s.path() + " " + function
			if used[where] = true; textual[where] == "" {
				t.Errorf("%s decides by a text for people (%s); give it a type", where, what)
			}
		})
	}
	for where := range textual {
		if !used[where] {
			t.Errorf("%s reads no text any more; take it out of the list", where)
		}
	}
}

// TestProseReadsAreFound checks that proseReads finds decisions made by a text.
func TestProseReadsAreFound(t *testing.T) {
	for text, want := range map[string]string{
		`return strings.Contains(end.Reason, "maintenance window")`:                   "strings.Contains",
		`return strings.HasPrefix(c.Rule, "playbook: ")`:                              "strings.HasPrefix",
		`return len(strings.Split(e.Message, ", ")) > 1`:                              "strings.Split",
		`return strings.Contains(told, f.Step+": "+gist(f))`:                          "strings.Contains",
		`return e.Step == "stage"`:                                                    "==",
		`return "stage" != e.Step`:                                                    "!=",
		`switch e.Step { case "stage": return true }; return false`:                   "switch",
		`return e.Step == ""`:                                                         "",
		`return e.Kind == engine.StageStep`:                                           "",
		`return a.name == e.Step`:                                                     "",
		`return strings.Contains(h.Name, "x") && strings.TrimSpace(h.Step) != h.Name`: "",
	} {
		tree, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc f() bool { "+text+" }", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		proseReads(tree, func(_, what string) { got = what })
		if got != want {
			t.Errorf("%s: found %q, want %q", text, got, want)
		}
	}
}
