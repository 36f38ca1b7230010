package engine_test

import (
	"go/ast"
	"testing"
)

// maxMethods is the most methods of one type. A type with more has several jobs.
const maxMethods = 40

func TestReceiversHaveFewMethods(t *testing.T) {
	methods := map[string]int{}
	for _, s := range parseSources(t, "engine", "modules", "cmd") {
		if s.test() || classifyPackage(s.dir) != product {
			continue
		}
		for _, d := range s.tree.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				methods[s.dir+"."+receiverName(f.Recv.List[0].Type)]++
			}
		}
	}
	if methods["engine/rollout.Run"] == 0 || methods["engine.Hold"] == 0 {
		t.Fatal("known methods were not found")
	}
	for name, n := range methods {
		if n > maxMethods {
			t.Errorf("%s has %d methods, more than %d; give a part of its job to another type", name, n, maxMethods)
		}
	}
}

func receiverName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverName(e.X)
	case *ast.IndexExpr:
		return receiverName(e.X)
	case *ast.IndexListExpr:
		return receiverName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
