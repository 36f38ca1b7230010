package sshconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"holdfast/engine/textutil"
)

const (
	maxInclude = 16   // depth of includes, as in ssh
	maxFiles   = 1000 // files that are included, in all
)

// parser reads a file and those that it includes, and keeps all errors.
type parser struct {
	Reader
	home  string
	files int
	errs  []error

	ignored []string // patterns of IgnoreUnknown, in lower case
}

func (p *parser) parseFile(path string, text []byte, depth int) []line {
	var lines []line
	n := 0
	for s := range strings.Lines(string(text)) {
		n++
		s = strings.TrimLeft(strings.TrimRight(s, " \t\r\n\f"), " \t\r")
		if s == "" || s[0] == '#' {
			continue
		}
		l, err := parseLine(s)
		l.at = fmt.Sprintf("%s:%d", path, n)
		if l.keyword != "" && !slices.Contains(knownOptions, l.keyword) && !matchesHost(p.ignored, l.keyword) {
			p.errs = append(p.errs, fmt.Errorf("%s: %s", l.at, describeUnknown(l.keyword)))
			continue
		}
		if l.keyword == "ignoreunknown" {
			p.ignored = append(p.ignored, strings.Split(strings.ToLower(strings.Join(l.words, ",")), ",")...)
		}
		if err == nil && l.keyword == "match" {
			l.criteria, err = parseCriteria(l.words)
		}
		if err == nil {
			err = l.checkChoice()
		}
		if err != nil {
			p.errs = append(p.errs, fmt.Errorf("%s: %s: %w", l.at, s, err))
			continue
		}
		if l.keyword == "include" {
			l.included = p.includeFiles(l, depth+1)
		}
		lines = append(lines, l)
	}
	return lines
}

// describeUnknown is the error for an option that ssh does not know. Unlike ssh, the parser honours an IgnoreUnknown
// above it also if its block does not apply to the host.
func describeUnknown(keyword string) string {
	advice := "correct it, or name it in an IgnoreUnknown above"
	if near := textutil.Nearest(keyword, knownOptions); near != "" {
		advice = fmt.Sprintf("did you mean %s?", near)
	}
	return fmt.Sprintf("%q is not an option of ssh_config; %s", textutil.Printable(keyword), advice)
}

// parseLine splits a line as ssh does: one equals sign may stand after the keyword.
func parseLine(s string) (line, error) {
	end := strings.IndexAny(s, " \t=\"")
	if end < 0 {
		return line{keyword: strings.ToLower(s)}, errors.New("the value is missing")
	}
	if strings.ContainsFunc(s[:end], func(r rune) bool { return r > unicode.MaxASCII }) {
		return line{}, fmt.Errorf("%q is not an option", s[:end])
	}
	l := line{keyword: strings.ToLower(s[:end]), text: strings.TrimLeft(s[end:], " \t")}
	if rest, ok := strings.CutPrefix(l.text, "="); ok {
		l.text = strings.TrimLeft(rest, " \t")
	}
	if l.text == "" {
		return l, errors.New("the value is missing")
	}
	var err error
	l.words, err = splitWords(l.text)
	if isCommand(l.keyword) { // the text counts
		return l, nil
	}
	if err == nil && len(l.words) == 0 {
		err = errors.New("the value is missing")
	}
	return l, err
}

func isCommand(keyword string) bool {
	return keyword == "proxycommand" || keyword == "localcommand" || keyword == "remotecommand" || keyword == "knownhostscommand"
}

var errQuote = errors.New("a quotation mark is missing")

// splitWords splits a value into words, which may be quoted. A # at the start of a word begins a comment.
func splitWords(s string) ([]string, error) {
	var words []string
	for i := 0; i < len(s); {
		switch s[i] {
		case ' ', '\t':
			i++
			continue
		case '#':
			return words, nil
		}
		word, end, err := cutWord(s, i)
		if err != nil {
			return words, err
		}
		words, i = append(words, word), end
	}
	return words, nil
}

// cutWord returns the word that starts at i, and its end.
func cutWord(s string, i int) (string, int, error) {
	var b strings.Builder
	var quote byte
	for ; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s) && (strings.IndexByte(`'"\`, s[i+1]) >= 0 || quote == 0 && s[i+1] == ' '):
			i++
			b.WriteByte(s[i])
		case quote == 0 && (c == ' ' || c == '\t'):
			return b.String(), i, nil
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		default:
			b.WriteByte(c)
		}
	}
	if quote != 0 {
		return "", i, errQuote
	}
	return b.String(), i, nil
}

// includeFiles reads the files of an Include line. Like ssh, it skips those that are missing.
func (p *parser) includeFiles(l line, depth int) [][]line {
	if depth > maxInclude {
		p.errs = append(p.errs, fmt.Errorf("%s: includes are nested more than %d deep", l.at, maxInclude))
		return nil
	}
	var included [][]line
	for _, pattern := range l.words {
		pattern, err := expandTokens(pattern, localTokens(p.home))
		if err != nil { // also for tokens of a host: the files are read once for all hosts
			p.errs = append(p.errs, fmt.Errorf("%s: %w", l.at, err))
			continue
		}
		pattern = expandEnv(pattern)
		if rest, ok := strings.CutPrefix(pattern, "~/"); ok {
			pattern = filepath.Join(p.home, rest)
		} else if !filepath.IsAbs(pattern) {
			pattern = filepath.Join(p.home, ".ssh", pattern)
		}
		files, err := filepath.Glob(pattern)
		if err != nil {
			p.errs = append(p.errs, fmt.Errorf("%s: include %s: %w", l.at, pattern, err))
		}
		for _, f := range files {
			if p.files++; p.files > maxFiles {
				p.errs = append(p.errs, fmt.Errorf("%s: more than %d files are included", l.at, maxFiles))
				return included
			}
			text, err := p.Read(f)
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				p.errs = append(p.errs, fmt.Errorf("%s: include: %w", l.at, err))
			default:
				included = append(included, p.parseFile(f, text, depth))
			}
		}
	}
	return included
}

// expandEnv replaces ${VAR}. Like ssh, it leaves $VAR alone, and does not expand the value once more.
func expandEnv(s string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "${")
		name, after, closed := strings.Cut(rest, "}")
		if !found || !closed {
			return b.String() + s
		}
		b.WriteString(before + os.Getenv(name))
		s = after
	}
}
