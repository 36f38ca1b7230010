package nodefiles

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubelet/config/v1beta1"
)

var update = flag.Bool("update", false, "write kubelet.txt")

// TestKubeletTable checks that the table has the fields of the type that the kubelet decodes. The type itself is not linked into the
// program, which it would make several MB larger.
func TestKubeletTable(t *testing.T) {
	var lines []string
	listFields(reflect.TypeFor[v1beta1.KubeletConfiguration](), "", &lines)
	slices.Sort(lines)
	text := "# KubeletConfiguration v1beta1 of k8s.io/kubelet v0.37.2. go test -update writes this file.\n" + strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile("kubelet.txt", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if text != kubeletTable {
		t.Error("kubelet.txt does not match the type; go test ./engine/config/nodefiles -update writes it")
	}
}

func listFields(typ reflect.Type, path string, lines *[]string) {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	add := func(kind valueKind) { *lines = append(*lines, path+" "+string(kind)) }
	switch {
	case typ == reflect.TypeFor[metav1.Duration]():
		add(durationValue)
	case reflect.PointerTo(typ).Implements(reflect.TypeFor[json.Unmarshaler]()):
		add(anyValue)
	case typ.Kind() == reflect.Bool:
		add(boolValue)
	case typ.Kind() == reflect.String:
		add(textValue)
	case typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.Uint8:
		add(textValue)
	case typ.Kind() == reflect.Slice:
		listFields(typ.Elem(), path+"[]", lines)
	case typ.Kind() == reflect.Map:
		listFields(typ.Elem(), path+"{}", lines)
	case typ.Kind() == reflect.Struct:
		for f := range typ.Fields() {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case name == "-":
			case name == "" && (f.Anonymous || strings.Contains(options, "inline")):
				listFields(f.Type, path, lines)
			default:
				listFields(f.Type, strings.TrimPrefix(path+"."+name, "."), lines)
			}
		}
	case slices.Contains([]reflect.Kind{reflect.Float32, reflect.Float64}, typ.Kind()):
		add(numberValue)
	case typ.ConvertibleTo(reflect.TypeFor[int64]()):
		add(integerValue)
	default:
		panic(fmt.Sprintf("%s: %s", path, typ))
	}
}
