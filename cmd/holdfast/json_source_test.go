package main

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// source has the comments and constants of the printed types.
type source struct {
	comments map[string]string // comments by PACKAGE.Type and PACKAGE.Type.Field
	values   map[string][]word // constants by PACKAGE.Type
}

// word is one value of a type whose values are listed.
type word struct{ text, comment string }

// commentOf returns the comment of a field, or of the type itself.
func (s source) commentOf(typ reflect.Type, field string) string {
	key := typ.PkgPath() + "." + typ.Name()
	if field != "" {
		key += "." + field
	}
	return s.comments[key]
}

func readSource(t *testing.T) source {
	t.Helper()
	s := source{comments: map[string]string{}, values: map[string][]word{}}
	for _, dir := range []string{"engine", "engine/etcdfacts", "engine/kubefacts", "engine/event", "engine/resource", "engine/journal", "engine/report/tables", "engine/etcd", "engine/etcd/membership", "engine/etcd/restore", "engine/content/mirror", "engine/rules", "cmd/holdfast"} {
		files, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range parsed.Decls {
				if g, ok := d.(*ast.GenDecl); ok {
					s.collectTypes("holdfast/"+dir+".", g)
				}
			}
		}
	}
	return s
}

func (s source) collectTypes(pkg string, decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			name := pkg + spec.Name.Name
			s.comments[name] = oneLine(decl.Doc.Text() + spec.Doc.Text())
			if fields, ok := spec.Type.(*ast.StructType); ok {
				s.collectFields(name, fields)
			}
		case *ast.ValueSpec:
			s.collectConstant(pkg, spec)
		}
	}
}

func (s source) collectFields(name string, list *ast.StructType) {
	for _, f := range list.Fields.List {
		for _, n := range f.Names {
			s.comments[name+"."+n.Name] = oneLine(f.Doc.Text() + " " + f.Comment.Text())
		}
	}
}

// collectConstant adds a constant if it has a named type and a literal value.
func (s source) collectConstant(pkg string, spec *ast.ValueSpec) {
	typ, ok := spec.Type.(*ast.Ident)
	if !ok || len(spec.Values) != 1 {
		return
	}
	lit, ok := spec.Values[0].(*ast.BasicLit)
	if !ok {
		return
	}
	text := lit.Value
	if v := constant.MakeFromLiteral(lit.Value, lit.Kind, 0); v.Kind() == constant.String {
		text = constant.StringVal(v)
	} else if _, err := strconv.Atoi(text); err != nil {
		return
	}
	key := pkg + typ.Name
	s.values[key] = append(s.values[key], word{text, oneLine(spec.Doc.Text() + " " + spec.Comment.Text())})
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
