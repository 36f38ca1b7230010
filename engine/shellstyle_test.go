package engine_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// maxShellLines limits the lines of shell in a text of a Go file. A longer script is a file in a folder sh, which is embedded:
// there, shellcheck and editors see it.
const maxShellLines = 5

// TestShellStyle checks that longer scripts are files.
func TestShellStyle(t *testing.T) {
	for _, s := range parseSources(t, "engine", "modules", "cmd") {
		if s.test() || strings.HasSuffix(s.dir, "test") { // a package for tests
			continue
		}
		for _, f := range findShell(s.tree) {
			if f.lines > maxShellLines {
				t.Errorf("%s: %d lines of shell, more than %d; embed a file of a folder sh", s.fset.Position(f.pos), f.lines, maxShellLines)
			}
		}
	}
}

type shellText struct {
	pos   token.Pos
	lines int
}

// findShell finds the texts of a file that are shell. A chain of "+" is one text.
func findShell(tree *ast.File) []shellText {
	var found []shellText
	ast.Inspect(tree, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		var others []ast.Expr
		text, ok := joinedText(e, &others)
		if !ok {
			return true
		}
		if lines := countShell(text); lines > 0 {
			found = append(found, shellText{e.Pos(), lines})
		}
		for _, other := range others { // such as the arguments of a call
			found = append(found, findShell(&ast.File{Name: ast.NewIdent("_"), Decls: []ast.Decl{declareBlank(other)}})...)
		}
		return false
	})
	return found
}

func declareBlank(e ast.Expr) ast.Decl {
	return &ast.GenDecl{Tok: token.VAR, Specs: []ast.Spec{&ast.ValueSpec{Names: []*ast.Ident{ast.NewIdent("_")}, Values: []ast.Expr{e}}}}
}

// joinedText returns the text of literals that are joined by "+", with a word for each other operand, which it adds to others.
func joinedText(e ast.Expr, others *[]ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return joinedText(e.X, others)
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		left, literal := joinedText(e.X, others)
		if !literal {
			left = "value"
			*others = append(*others, e.X)
		}
		right, also := joinedText(e.Y, others)
		if !also {
			right = "value"
			*others = append(*others, e.Y)
		}
		return left + right, literal || also
	}
	return "", false
}

// shellMark matches what hardly any text but shell has: quoted expansions, conditions, redirections, and words that end a block.
var shellMark = regexp.MustCompile(`"\$[\w@*#{(?!]|\$\(|\|\| |&& |>&2|2>|[^ ]>"|; (then|do)\b|^\s*(fi|done|esac|then|else)\b|;;|^\s*\[ .* \]|^\s*set -|^\s*\w+\(\) [{(]|^\s*(if|while|until|case) .*\b(then|do|in)$`)

// countShell returns the number of lines of a script, or 0 for a text that has less than two lines with marks of shell.
func countShell(text string) int {
	marked, lines := 0, 0
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\n"); strings.TrimSpace(line) == "" {
			continue
		}
		lines++
		if shellMark.MatchString(line) {
			marked++
		}
	}
	if marked < 2 {
		return 0
	}
	return lines
}

// The check of shell finds scripts, and nothing else.
func TestShellIsFound(t *testing.T) {
	for text, want := range map[string][]int{
		"const a = `set -eu\ncd \"$1\"\nrm -f ./x\n`":                               {3},
		"const a = `if found; then\n` + b + `\nfi\n`":                               {3},
		"var a = f(\"[ -e x ] || exit 1\\n\" + g(`case $x in\na) ;;\nesac\n`))":     {3},
		"var a = \"set -e\\n\" + (b + \"echo no >&2\\n\") + \"x=1\\ny=2\\n\"":       {4},
		"const a = `apply plans as plan does, asks, and\ncarries the plan out.\n`":  nil,
		"const a = `site \"lab\" {\n  ssh {\n    user = \"${var.user}\"\n  }\n}\n`": nil,
		"const a = `[Unit]\nAfter=network.target\n[Service]\nRestart=always\n`":     nil,
		"const a, b = \"x || y\", 'c'":                                              nil,
	} {
		tree, err := parser.ParseFile(token.NewFileSet(), "p.go", "package p\n"+text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, f := range findShell(tree) {
			got = append(got, f.lines)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %s, want %v", text, fmt.Sprint(got), want)
		}
	}
}

// TestBootIDHasOneReader checks that scripts learn the boot of a host only from
// bootid.sh, because the boot ID of the kernel stays over a soft reboot. The scripts of
// certificates note from when the uptime counts, which is the boot of the kernel.
func TestBootIDHasOneReader(t *testing.T) {
	readers := map[string]bool{"engine/hostscript/sh/bootid.sh": true, "engine/etcd/pki/sh/finish.sh": true, "engine/etcd/pki/sh/probe.sh": true}
	for _, folder := range []string{"engine", "modules", "cmd/holdfast"} {
		err := fs.WalkDir(os.DirFS(".."), folder, func(p string, d fs.DirEntry, err error) error {
			isScript := strings.HasSuffix(p, ".sh") || strings.HasSuffix(p, ".go") && !strings.HasSuffix(p, "_test.go") && !strings.Contains(p, "test/")
			if err != nil || d.IsDir() || !isScript || readers[p] {
				return err
			}
			text, err := os.ReadFile(filepath.Join("..", p))
			if strings.Contains(string(text), "/proc/sys/kernel/random/boot_id") {
				t.Errorf("%s reads the boot ID of the kernel; read_boot_id in bootid.sh knows soft reboots, too", p)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}
