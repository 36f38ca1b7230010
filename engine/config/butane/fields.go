package butane

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	fcos "github.com/coreos/ignition/v2/butane/config/fcos/v1_7"
	fiot "github.com/coreos/ignition/v2/butane/config/fiot/v1_0"
	flatcar "github.com/coreos/ignition/v2/butane/config/flatcar/v1_1"
	openshift "github.com/coreos/ignition/v2/butane/config/openshift/v4_22"
	r4e "github.com/coreos/ignition/v2/butane/config/r4e/v1_1"

	"holdfast/engine/textutil"
)

// latestShapes has the fields of the latest version of each variant.
var latestShapes = map[string]reflect.Type{
	"fcos": reflect.TypeFor[fcos.Config](), "openshift": reflect.TypeFor[openshift.Config](), "flatcar": reflect.TypeFor[flatcar.Config](),
	"r4e": reflect.TypeFor[r4e.Config](), "fiot": reflect.TypeFor[fiot.Config](),
}

// ExplainUnknownField returns the problem of a field that the version of a
// document does not have.
func ExplainUnknownField(variant string, path []any) string {
	const unknown = "is not a field of Butane's specification; "
	shape := latestShapes[variant]
	if len(path) == 0 || shape == nil {
		return unknown + "correct its name or remove it"
	}
	for _, step := range path[:len(path)-1] {
		if shape = shapeOf(shape, step); shape == nil {
			return unknown + "correct its name or remove it"
		}
	}
	name, _ := path[len(path)-1].(string)
	fields := fieldsOf(shape)
	if fields[name] != nil {
		_, latest := stableVersions(variant)
		return "is not a field of this version of Butane's specification; use version " + latest.String()
	}
	plain := strings.NewReplacer("-", "_", " ", "_").Replace(name)
	if near := textutil.Nearest(plain, slices.Sorted(maps.Keys(fields))); near != "" {
		return unknown + "did you mean " + near + "?"
	}
	return unknown + "correct its name or remove it"
}

// shapeOf returns the type of a field or item; nil if there is none.
func shapeOf(t reflect.Type, step any) reflect.Type {
	if name, ok := step.(string); ok {
		return fieldsOf(t)[name]
	}
	if t = elementOf(t); t.Kind() == reflect.Slice {
		return t.Elem()
	}
	return nil
}

func elementOf(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// fieldsOf returns the fields of a struct by their names in YAML.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	if t = elementOf(t); t.Kind() != reflect.Struct {
		return fields
	}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case options == "inline":
			maps.Copy(fields, fieldsOf(f.Type))
		case name != "":
			fields[name] = f.Type
		}
	}
	return fields
}
