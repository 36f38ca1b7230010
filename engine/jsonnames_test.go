package engine_test

import (
	"fmt"
	"go/ast"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// foreignNames lists the files whose types have names of others in JSON, with the
// owner of these names.
var foreignNames = map[string]string{
	"engine/config/machineconfig.go":    "Kubernetes and the Machine Config Operator",
	"engine/config/mirrorsets.go":       "Kubernetes and OpenShift",
	"engine/content/layout/image.go":    "OCI images",
	"engine/etcd/database/contents.go":  "etcd's member records",
	"engine/etcd/database/voters.go":    "etcd's raft library",
	"engine/etcd/version.go":            "the version page of etcd",
	"engine/kube/wire.go":               "Kubernetes",
	"engine/redfish/wire.go":            "Redfish",
	"engine/rollout/gate/prometheus.go": "Prometheus",
	"modules/osimage/ostreestatus.go":   "ostree",
	"modules/osimage/rpmostree.go":      "rpm-ostree",
}

// TestJSONNames checks that the name of a field in JSON is the name of the field
// in Go, in snake case. So one thing has one name in the code and for programs,
// and a new name for programs needs a decision about the name in the code.
func TestJSONNames(t *testing.T) {
	used := map[string]bool{}
	fields := 0
	for _, s := range parseSources(t, "engine", "modules", "cmd") {
		if s.test() {
			continue
		}
		for f := range jsonFields(s) {
			if jsonName(f) == "cluster" && strings.Contains(f.Doc.Text()+f.Comment.Text(), "Kubernetes") {
				t.Errorf("%s: cluster is always an etcd cluster; name this Kubernetes cluster kubernetes", s.fset.Position(f.Pos()))
			}
			for _, problem := range wrongJSONNames(f) {
				if foreignNames[s.path()] == "" {
					t.Errorf("%s: %s", s.fset.Position(f.Pos()), problem)
				}
				used[s.path()] = true
			}
			fields++
		}
		if foreignNames[s.path()] == "" {
			for _, problem := range untaggedFields(s) {
				t.Error(problem)
			}
		}
	}
	if fields < 500 {
		t.Errorf("only %d fields were found", fields)
	}
	for path := range foreignNames {
		if !used[path] {
			t.Errorf("%s has no names of others any more; remove it from foreignNames", path)
		}
	}
}

// jsonName returns the name of a field in JSON, or "" if it has none.
func jsonName(f *ast.Field) string {
	if f.Tag == nil {
		return ""
	}
	tag, _ := strconv.Unquote(f.Tag.Value) // the parser has checked it
	name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	return strings.TrimPrefix(name, "-")
}

// wrongJSONNames returns a problem for each name of a field whose tag has another
// name.
func wrongJSONNames(f *ast.Field) (problems []string) {
	for _, id := range f.Names {
		if name, want := jsonName(f), snakeCase(id.Name); name != want {
			problems = append(problems, fmt.Sprintf("%s has the name %q in JSON, not %q; rename the tag or the field", id.Name, name, want))
		}
	}
	return problems
}

// untaggedFields returns a problem for each field that has its Go name in JSON, because other fields of its type have
// tags and it has none.
func untaggedFields(s source) (problems []string) {
	ast.Inspect(s.tree, func(n ast.Node) bool {
		typ, ok := n.(*ast.StructType)
		if !ok || !slices.ContainsFunc(typ.Fields.List, func(f *ast.Field) bool { return jsonName(f) != "" }) {
			return true
		}
		for _, f := range typ.Fields.List {
			for _, id := range f.Names {
				if id.IsExported() && f.Tag == nil {
					problems = append(problems, fmt.Sprintf("%s: %s has no tag; add its name in JSON, or \"-\"", s.fset.Position(f.Pos()), id.Name))
				}
			}
		}
		return true
	})
	return problems
}

// oneWord spells words with several capitals so that snakeCase does not split
// them.
var oneWord = strings.NewReplacer("URLs", "Urls", "PromQL", "Promql")

// snakeCase returns the name of a Go field in snake case: WALDir is wal_dir.
func snakeCase(name string) string {
	r := []rune(oneWord.Replace(name))
	var b strings.Builder
	for i, c := range r {
		if i > 0 && unicode.IsUpper(c) && (!unicode.IsUpper(r[i-1]) || i+1 < len(r) && unicode.IsLower(r[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// TestSnakeCase checks names with abbreviations and digits.
func TestSnakeCase(t *testing.T) {
	for name, want := range map[string]string{
		"Host": "host", "MaxUnavailable": "max_unavailable", "WALFsyncP99": "wal_fsync_p99", "BootID": "boot_id",
		"ServeURLs": "serve_urls", "PromQL": "promql", "SHA256": "sha256", "DBInUseBytes": "db_in_use_bytes",
	} {
		if got := snakeCase(name); got != want {
			t.Errorf("%s is %s, not %s", name, got, want)
		}
	}
}
