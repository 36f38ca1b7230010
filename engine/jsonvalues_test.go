package engine_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// enumeratedText is a named text type with the values that its constants have.
type enumeratedText struct {
	source source
	values []string
}

// collectTexts returns all named text types of the product by PACKAGE.Type, with their values.
func collectTexts(t *testing.T) map[string]*enumeratedText {
	types := map[string]*enumeratedText{}
	sources := slices.DeleteFunc(parseSources(t, "engine", "modules", "cmd/holdfast"), source.test)
	for _, s := range sources {
		for _, spec := range specsOf(s, token.TYPE) {
			spec := spec.(*ast.TypeSpec)
			if id, ok := spec.Type.(*ast.Ident); ok && id.Name == "string" {
				types[s.dir+"."+spec.Name.Name] = &enumeratedText{source: s}
			}
		}
	}
	for _, s := range sources {
		for _, spec := range specsOf(s, token.CONST) {
			spec := spec.(*ast.ValueSpec)
			id, ok := spec.Type.(*ast.Ident)
			if !ok || types[s.dir+"."+id.Name] == nil {
				continue
			}
			for _, v := range spec.Values {
				if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					text, _ := strconv.Unquote(lit.Value) // the parser has checked it
					types[s.dir+"."+id.Name].values = append(types[s.dir+"."+id.Name].values, text)
				}
			}
		}
	}
	return types
}

func specsOf(s source, kind token.Token) []ast.Spec {
	var list []ast.Spec
	for _, d := range s.tree.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == kind {
			list = append(list, g.Specs...)
		}
	}
	return list
}

// sentenceTypes lists the text types whose values are for people or for the code only, or are words of somebody else, with the
// reason. The others are in no JSON and no HCL.
var sentenceTypes = map[string]string{
	"engine/config/syntax.Kind":  "part of an error message",
	"engine/etcd/change.Purpose": "tells a simulated host which script it gets",
	"engine/inventory.valueKind": "type of an argument, for the reference",
	"engine/playbook.kind":       "type of a key, for the reference",
	"engine/hold.Purpose":        "tells a simulated host which script it gets",
	"engine/power.Reset":         "the words of Redfish, as BMCs list them",
}

var hyphenated = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// TestEnumeratedValues checks that all values in JSON and HCL are spelled alike: in lower case, with hyphens, like
// flags, and like most values of systemd and Kubernetes. "" is the value of a field that is missing.
func TestEnumeratedValues(t *testing.T) {
	types := collectTexts(t)
	enumerated := 0
	for name, e := range types {
		wrong := slices.DeleteFunc(slices.Clone(e.values), func(v string) bool { return v == "" || hyphenated.MatchString(v) })
		if len(e.values) > 0 {
			enumerated++
		}
		switch _, excepted := sentenceTypes[name]; {
		case excepted && len(wrong) == 0:
			t.Errorf("all values of %s are spelled with hyphens; remove it from sentenceTypes", name)
		case !excepted && len(wrong) > 0:
			t.Errorf("%s has the values %s; spell values in JSON and HCL with hyphens", name, strings.Join(wrong, ", "))
		}
	}
	if enumerated < 30 {
		t.Errorf("only %d types were found", enumerated)
	}
	for name := range sentenceTypes {
		if types[name] == nil {
			t.Errorf("there is no type %s", name)
		}
	}
}

// units end the names of numbers that are durations, sizes or rates.
var units = regexp.MustCompile(`(Seconds|Minutes|Days|Bytes|BytesPerSecond|Percent)$`)

// plainNumbers lists the numbers that are no durations, sizes or rates, with their meaning.
var plainNumbers = map[string]string{
	"Schema": "version", "RolloutSchema": "version", "Seq": "position", "Batch": "position", "Number": "position", "Revision": "position", "RaftIndex": "position", "Line": "position",
	"PID": "ID", "UID": "ID", "GID": "ID", "Port": "TCP port", "ClientPort": "TCP port", "PeerPort": "TCP port", "Status": "status of HTTP", "Code": "status of HTTP",
	"Mode": "bits", "FloorShare": "share", "Systemd": "version",
	"Total": "count", "Voters": "count", "Healthy": "count", "Quorum": "count", "Margin": "count", "Failed": "count", "Count": "count", "Keep": "count",
	"Samples": "count", "Unanswered": "count", "FailedProbes": "count", "Observed": "count", "Objects": "count", "UnitsOmitted": "count",
	"EntriesBehind": "count", "LostRevisions": "count", "Retries": "count", "Successes": "count", "MaxSkew": "count", "OtherKeys": "count", "Sessions": "count",
	"Nodes": "count", "Ready": "count", "Cordoned": "count", "Pods": "count", "HoldsTaken": "count",
}

// TestNumbersHaveUnits checks that a number in JSON that is a duration, a size or a rate has its unit in its name.
// TestJSONNames checks that the JSON has this name. Other durations are texts with a unit (engine.Duration).
func TestNumbersHaveUnits(t *testing.T) {
	used := map[string]bool{}
	for _, s := range parseSources(t, "engine", "modules", "cmd/holdfast") {
		if s.test() || foreignNames[s.path()] != "" {
			continue
		}
		for f := range jsonFields(s) {
			if at := s.fset.Position(f.Pos()); isDuration(f.Type) {
				t.Errorf("%s: a time.Duration is a number of nanoseconds in JSON; use engine.Duration", at)
			} else if isNumber(f.Type) {
				for _, id := range f.Names {
					if used[id.Name] = true; plainNumbers[id.Name] == "" && !units.MatchString(id.Name) {
						t.Errorf("%s: %s is a number without a unit; add the unit to its name, or the name to plainNumbers", at, id.Name)
					}
				}
			}
		}
	}
	for name := range plainNumbers {
		if !used[name] {
			t.Errorf("no number is called %s; remove it from plainNumbers", name)
		}
	}
}

// jsonFields returns the fields with a name in JSON.
func jsonFields(s source) iter.Seq[*ast.Field] {
	return func(yield func(*ast.Field) bool) {
		more := true
		ast.Inspect(s.tree, func(n ast.Node) bool {
			f, ok := n.(*ast.Field)
			if more && ok && jsonName(f) != "" {
				more = yield(f)
			}
			return more
		})
	}
}

func isDuration(typ ast.Expr) bool {
	x, ok := typ.(*ast.SelectorExpr)
	return ok && x.Sel.Name == "Duration" && fmt.Sprint(x.X) == "time"
}

func isNumber(typ ast.Expr) bool {
	if p, ok := typ.(*ast.StarExpr); ok {
		typ = p.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && slices.Contains([]string{"int", "int32", "int64", "uint", "uint32", "uint64", "float64"}, id.Name)
}
