package nodefiles

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/config/syntax"
	"holdfast/engine/textutil"
)

// Finding is one value that the program which reads the file does not accept.
type Finding struct {
	Ignored bool   // the program goes on without it; otherwise, it does not start
	Text    string // cause and next step; never a value of the file
}

// valueKind is the type of a value.
type valueKind string

// The types of the tables.
const (
	textValue     valueKind = "text"
	boolValue     valueKind = "bool"
	integerValue  valueKind = "integer"
	numberValue   valueKind = "number"
	durationValue valueKind = "duration"            // text that time.ParseDuration reads
	spanValue     valueKind = "duration-or-integer" // in TOML, an integer counts nanoseconds
	anyValue      valueKind = "any"
	objectValue   valueKind = "" // an object with fields
	listValue     valueKind = "list"
	mapValue      valueKind = "map"
)

// shape is the type of a value and of all that is in it.
type shape struct {
	kind   valueKind
	fields map[string]*shape // of an object
	open   bool              // an object may have other fields, too
	item   *shape            // of a list or map
}

// parseShape reads a table with a line "PATH TYPE" for each value. In a path, [] stands for the items of a
// list, {} for the values of a map, and * for other fields. Names with dots are in quotes.
func parseShape(table string) *shape {
	root := &shape{fields: map[string]*shape{}}
	for line := range strings.Lines(table) {
		path, kind, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || strings.HasPrefix(path, "#") {
			continue
		}
		at := root
		for _, name := range splitPath(path) {
			at = at.addField(name)
		}
		if at != nil {
			at.kind = valueKind(kind)
		}
	}
	return root
}

func splitPath(path string) []string {
	var names []string
	for i, part := range strings.Split(path, "'") {
		if i%2 == 1 {
			names = append(names, part)
			continue
		}
		names = append(names, strings.FieldsFunc(part, func(r rune) bool { return r == '.' })...)
	}
	return names
}

// addField returns the shape of a field, or nil for other fields. It adds those that are missing.
func (s *shape) addField(name string) *shape {
	if name == "*" {
		s.open = true
		return nil
	}
	inner := ""
	if i := strings.IndexAny(name, "[{"); i >= 0 {
		name, inner = name[:i], name[i:]
	}
	if s.fields == nil {
		s.fields = map[string]*shape{}
	}
	if s.fields[name] == nil {
		s.fields[name] = &shape{}
	}
	at := s.fields[name]
	for ; inner != ""; inner = inner[2:] {
		at.kind = listValue
		if inner[0] == '{' {
			at.kind = mapValue
		}
		if at.item == nil {
			at.item = &shape{}
		}
		at = at.item
	}
	return at
}

// checker checks a file against a shape.
type checker struct {
	program string // for messages, such as "kubelet 1.37"
	found   []Finding
}

// maxFindings is the maximum number of findings in a file.
const maxFindings = 50

func (c *checker) add(ignored bool, format string, args ...any) {
	if len(c.found) < maxFindings {
		c.found = append(c.found, Finding{Ignored: ignored, Text: fmt.Sprintf(format, args...)})
	}
}

// formatPlace returns a position for messages. A column of 0 is not known.
func formatPlace(line, column int) string {
	if column == 0 {
		return fmt.Sprintf("line %d of the file", line)
	}
	return fmt.Sprintf("line %d, column %d of the file", line, column)
}

// checkValue checks a value. path is its path in the file, for messages.
func (c *checker) checkValue(n *syntax.Node, s *shape, path string) {
	if n.Kind == syntax.NullKind || s.kind == anyValue {
		return
	}
	want := s.expectedKind(n.Kind)
	if n.Kind != want {
		c.add(false, "has in %s the wrong type for %s: it must be %s, not %s", formatPlace(n.Line, n.Column), path, want, n.Kind)
		return
	}
	switch s.kind {
	case integerValue:
		if _, err := strconv.ParseInt(n.Scalar, 0, 64); err != nil {
			c.add(false, "has in %s a wrong number for %s: it must be a whole number", formatPlace(n.Line, n.Column), path)
		}
	case durationValue, spanValue:
		if _, err := time.ParseDuration(n.Scalar); err != nil && n.Kind == syntax.TextKind {
			c.add(false, "has in %s no duration for %s; write 30s, 5m or 1h30m, for example", formatPlace(n.Line, n.Column), path)
		}
	case listValue:
		for i, item := range n.Items {
			c.checkValue(item, s.item, fmt.Sprintf("%s[%d]", path, i))
		}
	case mapValue:
		for i, k := range n.Keys {
			c.checkValue(n.Items[i], s.item, path+"."+textutil.Printable(k.Name))
		}
	case objectValue:
		c.checkFields(n, s, path)
	case textValue, boolValue, numberValue, anyValue:
	}
}

// expectedKind returns the kind that a value must have. A duration in TOML may have either of two kinds.
func (s *shape) expectedKind(is syntax.Kind) syntax.Kind {
	switch s.kind {
	case boolValue:
		return syntax.BoolKind
	case integerValue, numberValue:
		return syntax.NumberKind
	case spanValue:
		if is == syntax.NumberKind {
			return syntax.NumberKind
		}
	case listValue:
		return syntax.ListKind
	case mapValue, objectValue:
		return syntax.ObjectKind
	case textValue, durationValue, anyValue:
	}
	return syntax.TextKind
}

func (c *checker) checkFields(n *syntax.Node, s *shape, path string) {
	for i, k := range n.Keys {
		full := strings.TrimPrefix(path+"."+textutil.Printable(k.Name), ".")
		field := s.fields[k.Name]
		switch {
		case field != nil:
			c.checkValue(n.Items[i], field, full)
		case !s.open:
			advice := "correct its name, or remove it"
			if near := s.nearestField(k.Name); near != "" {
				advice = "did you mean " + near + "?"
			}
			c.add(true, "has in %s the field %s, which %s does not have, and ignores; %s", formatPlace(k.Line, k.Column), full, c.program, advice)
		}
	}
}

func (s *shape) nearestField(name string) string {
	names := slices.Sorted(maps.Keys(s.fields))
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return n
		}
	}
	return textutil.Nearest(name, names)
}
