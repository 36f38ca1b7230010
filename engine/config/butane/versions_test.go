package butane

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coreos/go-semver/semver"

	"holdfast/engine/config/librarytest"
)

// All variants of the library are known, and all their stable versions are
// found.
func TestVersionsOfTheLibrary(t *testing.T) {
	registered := map[string][]string{}
	for _, f := range librarytest.Parse(t, "github.com/coreos/ignition/v2/butane/config") {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 3 {
				return true
			}
			if name, ok := call.Fun.(*ast.Ident); !ok || name.Name != "RegisterTranslator" {
				return true
			}
			var words [2]string
			for i := range words {
				if lit, ok := call.Args[i].(*ast.BasicLit); ok {
					words[i], _ = strconv.Unquote(lit.Value)
				}
			}
			registered[words[0]] = append(registered[words[0]], words[1])
			return true
		})
	}
	delete(registered, "rhcos") // the library refuses it with a message of its own
	if len(registered) != len(variants) {
		t.Errorf("the library has the variants %v; variants has %v", registered, variants)
	}
	for variant, list := range registered {
		list = slices.DeleteFunc(list, func(v string) bool { return strings.Contains(v, "-") })
		slices.SortFunc(list, func(a, b string) int { return semver.New(a).Compare(*semver.New(b)) })
		oldest, latest := stableVersions(variant)
		if !slices.Contains(variants, variant) || oldest.String() != list[0] || latest.String() != list[len(list)-1] {
			t.Errorf("%s: found %s to %s, the library has %v", variant, oldest, latest, list)
		}
	}
}
