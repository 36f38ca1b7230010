package ignition

import (
	"go/ast"
	"strconv"
	"testing"

	"holdfast/engine/config/librarytest"
)

// Each fixed text of the libraries has a text of ours. If an update of the
// library brings more, add them to translations, here or in package butane.
func TestAllMessagesAreTranslated(t *testing.T) {
	for _, pkg := range []string{"github.com/coreos/ignition/v2/config/shared/errors", "github.com/coreos/ignition/v2/butane/config/common"} {
		found := 0
		for _, f := range librarytest.Parse(t, pkg) {
			ast.Inspect(f, func(n ast.Node) bool {
				text, ok := newErrorText(n)
				if ok {
					if found++; ExplainMessage(text).Vague {
						t.Errorf("%s: %q has no text of ours", pkg, text)
					}
				}
				return true
			})
		}
		if found < 20 {
			t.Errorf("%s: found only %d errors; does the library make them elsewhere?", pkg, found)
		}
	}
}

// newErrorText returns the text of a call such as errors.New("text").
func newErrorText(n ast.Node) (text string, ok bool) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return "", false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != "New" {
		return "", false
	}
	lit, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}
