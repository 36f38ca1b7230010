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
var prose = []string{"Reason", "Message", "Rule", "Step", "Outcome", "Cause", "Hint", "Note", "Stderr", "Problem", "Problems", "OSProblem", "Resource"}

// readers lists the functions of package strings that take a text apart or
// search in it.
var readers = []string{
	"Contains", "ContainsAny", "HasPrefix", "HasSuffix", "Cut", "CutPrefix", "CutSuffix", "Split", "SplitN", "SplitAfter", "SplitSeq",
	"Fields", "FieldsSeq", "Index", "LastIndex", "EqualFold", "Count", "TrimPrefix", "TrimSuffix",
}

// matchers lists the methods of regular expressions.
var matchers = []string{"MatchString", "FindString", "FindStringIndex", "FindStringSubmatch", "FindAllString", "ReplaceAllString"}

// textual lists the functions that may read texts, with the reason for each.
var textual = map[string]string{
	"engine/rollout/events.go asFailure":             "a script names its step in its message, which must not be said twice",
	"engine/report/summary/nextsteps.go StderrLines": "a line that the cause repeats is not shown twice",
	"engine/hostscript/holdprobe.go DescribeHolder":  "the script of a hold names itself in its message",
	"engine/config/butane/butane.go Translate":       "a finding of Butane's own has a text and no kind",
	"engine/change.go Name":                          "the resource of a change begins with its kind, which is a field of its own",
	"engine/remote/connecterror.go classifyChannel":  "sshd and its jump hosts answer with a text, and one code for several causes",
	"engine/remote/connecterror.go isSilence":        "sshd tells why a connection has failed in a text, and has one code for several causes",
	"engine/remote/reach.go isBlocked":               "sshd tells why a connection has failed in a text, and has one code for several causes",
	"engine/report/summary/nextsteps.go shortCause":  "a cause that only has an exit status is shown with a line of standard error",
	"engine/etcd/answer.go isForbidden":              "an answer of etcd 3.5 in a stream has a text and no code",
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
		copies := proseCopies(f)
		isProse := func(x ast.Expr) bool { return containsProse(x, copies) }
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if call, ok := n.Fun.(*ast.SelectorExpr); ok && readsText(call) && slices.ContainsFunc(n.Args, isProse) {
					found(f.Name.Name, call.Sel.Name)
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

// proseCopies returns the names of the variables of a function that have got such a text.
func proseCopies(f *ast.FuncDecl) map[string]bool {
	copies := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, right := range n.Rhs {
				if name, ok := n.Lhs[i].(*ast.Ident); ok && len(n.Lhs) == len(n.Rhs) && isTextOf(right, copies) {
					copies[name.Name] = true
				}
			}
		case *ast.RangeStmt:
			if value, ok := n.Value.(*ast.Ident); ok && isTextOf(n.X, copies) {
				copies[value.Name] = true
			}
		}
		return true
	})
	return copies
}

// isTextOf reports whether an expression is such a text itself, or a function of package strings applied to it.
func isTextOf(x ast.Expr, copies map[string]bool) bool {
	switch x := x.(type) {
	case *ast.SelectorExpr:
		return slices.Contains(prose, x.Sel.Name)
	case *ast.Ident:
		return copies[x.Name]
	case *ast.CallExpr:
		call, ok := x.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		pkg, ok := call.X.(*ast.Ident)
		return ok && pkg.Name == "strings" && slices.ContainsFunc(x.Args, func(a ast.Expr) bool { return isTextOf(a, copies) })
	}
	return false
}

// readsText reports whether a call reads a text: a function of package strings, or a method of a regular expression.
func readsText(call *ast.SelectorExpr) bool {
	pkg, ok := call.X.(*ast.Ident)
	return ok && pkg.Name == "strings" && slices.Contains(readers, call.Sel.Name) || slices.Contains(matchers, call.Sel.Name)
}

// containsProse reports whether an expression is, or contains, a field of prose or a copy of it.
func containsProse(x ast.Expr, copies map[string]bool) bool {
	inside := false
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			inside = inside || slices.Contains(prose, n.Sel.Name)
			return false // the names of a selector are no variables
		case *ast.Ident:
			inside = inside || copies[n.Name]
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
		`return strings.Contains(end.Reason, "maintenance window")`:                                        "Contains",
		`return strings.HasPrefix(c.Rule, "playbook: ")`:                                                   "HasPrefix",
		`return len(strings.Split(e.Message, ", ")) > 1`:                                                   "Split",
		`return strings.Contains(told, f.Step+": "+gist(f))`:                                               "Contains",
		`reason := end.Reason; return strings.Contains(reason, "maintenance window")`:                      "Contains",
		`for _, l := range strings.Split(f.Stderr, "\n") { if l == "done" { return true } }; return false`: "==",
		`return exitStatus.MatchString(f.Cause)`:                                                           "MatchString",
		`return strings.HasPrefix(c.Resource, "file ")`:                                                    "HasPrefix",
		`return e.Step == "stage"`:                                                                         "==",
		`return "stage" != e.Step`:                                                                         "!=",
		`switch e.Step { case "stage": return true }; return false`:                                        "switch",
		`return e.Step == ""`:                                                                              "",
		`return e.Kind == engine.StageStep`:                                                                "",
		`return a.name == e.Step`:                                                                          "",
		`return strings.Contains(h.Name, "x") && strings.TrimSpace(h.Step) != h.Name`:                      "",
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
