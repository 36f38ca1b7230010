package inventory

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// TestEveryArgumentIsRead checks that each argument of the schema refuses a
// value of a wrong type at its place. An argument that no code reads would
// accept the value.
func TestEveryArgumentIsRead(t *testing.T) {
	for _, top := range inventorySchema().blocks {
		eachArgument(top, nil, func(path []block, a argument) {
			if a.kind == anything {
				return
			}
			src, line := inventoryWith(path, a)
			_, err := Load(Source{FS: fstest.MapFS{"a.hcl": {Data: []byte(src)}}, Paths: []string{"a.hcl"}})
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("a.hcl:%d:", line)) {
				t.Errorf("%s in\n%s\nis not refused there: %v", a.name, src, err)
			}
		})
	}
}

// eachArgument visits all arguments of a block and the blocks in it.
func eachArgument(b block, path []block, visit func([]block, argument)) {
	path = append(path[:len(path):len(path)], b)
	for _, a := range b.arguments {
		visit(path, a)
	}
	for _, c := range b.blocks {
		eachArgument(c, path, visit)
	}
}

// inventoryWith returns an inventory whose only error is one argument, and the line of
// that argument.
func inventoryWith(path []block, wrong argument) (string, int) {
	var s strings.Builder
	for i, b := range path {
		s.WriteString(b.name)
		if b.label != "" {
			s.WriteString(` "x"`)
		}
		s.WriteString(" {\n")
		for _, a := range b.arguments {
			if a.required && (i < len(path)-1 || a.name != wrong.name) {
				value := `"1"`
				if a.kind == texts {
					value = `["before-batch"]`
				}
				fmt.Fprintf(&s, "%s = %s\n", a.name, value)
			}
		}
	}
	line := strings.Count(s.String(), "\n") + 1
	fmt.Fprintf(&s, "%s = { wrong = true }\n%s", wrong.name, strings.Repeat("}\n", len(path)))
	if path[0].name != "site" {
		s.WriteString("site \"s\" {}\n")
	}
	return s.String(), line
}
