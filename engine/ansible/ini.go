package ansible

import (
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"

	"holdfast/engine/textutil"
)

var (
	sectionLine = regexp.MustCompile(`^\[([^:\]\s]+)(?::(\w+))?\]\s*(?:#.*)?$`)
	groupLine   = regexp.MustCompile(`^([^:\]\s]+)\s*(?:#.*)?$`)
)

// iniReader reads an INI file line by line.
type iniReader struct {
	*builder
	file    string
	group   *group
	section string // "hosts", "children", "vars"; "" after a section that is not understood
}

func (b *builder) readINI(file, text string) {
	r := iniReader{builder: b, file: file, group: b.groups["ungrouped"], section: "hosts"}
	number := 0
	for line := range strings.Lines(text) {
		number++
		rest := strings.TrimLeft(line, " \t\v\f")
		at := Position{file, number, utf8.RuneCountInString(line[:len(line)-len(rest)]) + 1}
		rest = strings.TrimSpace(rest)
		if rest == "" || rest[0] == '#' || rest[0] == ';' {
			continue
		}
		if !b.countVisit(at) {
			return
		}
		r.readLine(rest, at)
	}
}

func (r *iniReader) readLine(line string, at Position) {
	if m := sectionLine.FindStringSubmatch(line); m != nil {
		r.beginSection(m[1], m[2], at)
		return
	}
	if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
		r.addError(at, "is no section; write [GROUP], [GROUP:children] or [GROUP:vars] without spaces")
		r.section = ""
		return
	}
	switch r.section {
	case "hosts":
		r.readHosts(line, at)
	case "children":
		m := groupLine.FindStringSubmatch(line)
		if m == nil {
			r.addError(at, "is not the name of a group; write one name a line")
			return
		}
		r.addGroup(m[1], at)
		r.group.children = append(r.group.children, childGroup{m[1], at})
	case "vars":
		name, value, found := strings.Cut(line, "=")
		if !found {
			r.addError(at, "is no variable; write NAME=VALUE")
			return
		}
		r.setGroupVariable(r.group, strings.TrimSpace(name), parseLiteral(strings.TrimSpace(value), at))
	}
}

func (r *iniReader) beginSection(name, kind string, at Position) {
	switch kind {
	case "", "hosts":
		r.section = "hosts"
	case "children", "vars":
		r.section = kind
	default:
		r.addError(at, "section [%s:%s] is of an unknown type; there are [GROUP], [GROUP:children] and [GROUP:vars]", name, kind)
		r.section = ""
		return
	}
	r.group = r.addGroup(name, at)
	if kind != "vars" {
		r.group.declared = true
		r.group.at = firstOf(r.group.at, at)
	}
}

func firstOf(p, q Position) Position {
	if p.Line != 0 {
		return p
	}
	return q
}

func (r *iniReader) readHosts(line string, at Position) {
	words, err := splitWords(line, true)
	if err == nil && len(words) == 0 {
		err = errors.New("has no host; write its name first")
	}
	if err != nil {
		r.addError(at, "%s", err)
		return
	}
	place := func(w word) Position {
		return Position{at.File, at.Line, at.Column + utf8.RuneCountInString(line[:w.offset])}
	}
	names, port, err := expandPattern(words[0].text)
	if err != nil {
		r.addError(at, "%q: %s", textutil.CutText(words[0].text, maxShown), err)
		return
	}
	vars := map[string]Value{}
	if port != "" {
		vars["ansible_port"] = Value{At: at, Kind: Number, Text: port}
	}
	for _, w := range words[1:] {
		name, value, found := strings.Cut(w.text, "=")
		if !found {
			r.addError(place(w), "is no variable; write NAME=VALUE, and quote values with spaces")
			continue
		}
		vars[name] = parseLiteral(value, place(w))
	}
	r.addHosts(names, vars, r.group, at)
}

// addHosts adds hosts with the same variables to a group.
func (b *builder) addHosts(names []string, vars map[string]Value, g *group, at Position) {
	for _, name := range names {
		if !b.countVisit(at) {
			return
		}
		h := b.addHost(name, g, at)
		for key, v := range vars {
			h.vars[key] = v
		}
	}
}

// word is a word of a line, with its offset in bytes.
type word struct {
	text   string
	offset int
}

// SplitArguments splits the arguments of a command as a shell does, and as Ansible does before it runs ssh.
func SplitArguments(text string) ([]string, error) {
	words, err := splitWords(text, false)
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.text
	}
	return texts, err
}

// splitWords splits a line as a shell does. With comments, a # outside of quotes begins a
// comment, even within a word.
func splitWords(line string, comments bool) ([]word, error) {
	var words []word
	var b strings.Builder
	start, quote := -1, byte(0)
	end := func() {
		if start >= 0 {
			words = append(words, word{b.String(), start})
		}
		b.Reset()
		start = -1
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == 0 && c == '#' && comments:
			end()
			return words, nil
		case quote == 0 && (c == ' ' || c == '\t' || c == '\r' || c == '\n'):
			end()
			continue
		}
		if start < 0 {
			start = i
		}
		switch {
		case c == '\\' && quote != '\'':
			if i+1 == len(line) {
				return nil, errors.New("the line ends with a backslash; remove it")
			}
			i++
			if quote == '"' && line[i] != '"' && line[i] != '\\' {
				b.WriteByte(c)
			}
			b.WriteByte(line[i])
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		default:
			b.WriteByte(c)
		}
	}
	if quote != 0 {
		return nil, errors.New("a quotation mark is missing")
	}
	end()
	return words, nil
}
