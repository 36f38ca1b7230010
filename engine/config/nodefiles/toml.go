package nodefiles

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"holdfast/engine/config/syntax"
)

// readTOML parses a TOML file. wrong is the reason why it cannot.
func readTOML(text string) (n *syntax.Node, wrong string) {
	if syntax.IsTOMLTooDeep(text) {
		return nil, fmt.Sprintf("has values inside more than %d others; correct it", syntax.MaxTOMLDepth)
	}
	var values map[string]any
	_, err := toml.Decode(text, &values)
	var at toml.ParseError
	switch {
	case errors.As(err, &at):
		return nil, fmt.Sprintf("is not valid TOML from line %d of the file on; correct it", at.Position.Line)
	case err != nil:
		return nil, "is not valid TOML; correct it"
	}
	return tomlReader{findLines(text)}.convert(values, nil), ""
}

// maxPath is the largest number of names in a path that is looked at. The tables have fewer.
const maxPath = 20

// tomlReader converts decoded TOML into nodes, with the lines of their keys: the library does not tell them.
type tomlReader struct{ lines map[string]int }

func (r tomlReader) lineOf(path []string) int {
	for ; len(path) > 0; path = path[:len(path)-1] {
		if line := r.lines[strings.Join(path, "\x00")]; line > 0 {
			return line
		}
	}
	return 1
}

func (r tomlReader) convert(v any, path []string) *syntax.Node {
	if len(path) > maxPath {
		return &syntax.Node{Kind: syntax.NullKind}
	}
	n := &syntax.Node{Kind: syntax.TextKind, Line: r.lineOf(path)}
	switch v := v.(type) {
	case map[string]any:
		n.Kind = syntax.ObjectKind
		for _, name := range slices.Sorted(maps.Keys(v)) {
			inner := append(slices.Clone(path), name)
			n.Keys = append(n.Keys, syntax.Key{Name: name, Line: r.lineOf(inner)})
			n.Items = append(n.Items, r.convert(v[name], inner))
		}
	case []map[string]any:
		n.Kind = syntax.ListKind
		for _, item := range v {
			n.Items = append(n.Items, r.convert(item, path))
		}
	case []any:
		n.Kind = syntax.ListKind
		for _, item := range v {
			n.Items = append(n.Items, r.convert(item, path))
		}
	case bool:
		n.Kind, n.Scalar = syntax.BoolKind, strconv.FormatBool(v)
	case int64:
		n.Kind, n.Scalar = syntax.NumberKind, strconv.FormatInt(v, 10)
	case float64:
		n.Kind, n.Scalar = syntax.NumberKind, strconv.FormatFloat(v, 'g', -1, 64)
		if v == math.Trunc(v) {
			n.Scalar += ".0" // no integer in TOML
		}
	case string:
		n.Scalar = v
	case time.Time:
		n.Scalar = v.Format(time.RFC3339)
	}
	return n
}

// findLines returns the first line of each table and key, by its path with NUL between the names. A line of a
// multi-line string that looks like a key may stand for one of the same name further down.
func findLines(text string) map[string]int {
	lines := map[string]int{}
	var table []string
	number := 0
	note := func(path []string) {
		for i := 1; i <= min(len(path), maxPath); i++ {
			if key := strings.Join(path[:i], "\x00"); lines[key] == 0 {
				lines[key] = number
			}
		}
	}
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if header, ok := strings.CutPrefix(line, "["); ok {
			names, rest := readKey(strings.TrimPrefix(header, "["))
			if strings.HasPrefix(rest, "]") && len(names) > 0 {
				table = names
				note(table)
			}
			continue
		}
		if names, rest := readKey(line); len(names) > 0 && strings.HasPrefix(rest, "=") {
			note(append(slices.Clone(table), names...))
		}
	}
	return lines
}

// readKey reads a key of TOML, which may have dots and quotes, and returns its names and the rest of the line.
func readKey(s string) (names []string, rest string) {
	for {
		s = strings.TrimLeft(s, " \t")
		end := 0
		switch {
		case s != "" && (s[0] == '"' || s[0] == '\''):
			if end = strings.IndexByte(s[1:], s[0]); end < 0 {
				return nil, s
			}
			names, s = append(names, s[1:end+1]), s[end+2:]
		default:
			isBare := func(r rune) bool {
				return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
			}
			if end = strings.IndexFunc(s, func(r rune) bool { return !isBare(r) }); end < 0 {
				end = len(s)
			}
			if end == 0 {
				return nil, s
			}
			names, s = append(names, s[:end]), s[end:]
		}
		s = strings.TrimLeft(s, " \t")
		if !strings.HasPrefix(s, ".") {
			return names, s
		}
		s = s[1:]
	}
}
