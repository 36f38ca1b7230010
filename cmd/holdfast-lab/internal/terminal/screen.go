package terminal

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Screen shows the output of a program like a terminal. The zero Screen is empty.
type Screen struct {
	gone        []string // lines that have scrolled off the top
	lines       [rows][]rune
	row, column int
	pending     []byte // the start of a sequence or character whose rest has not arrived
}

var (
	// csi matches a control sequence. Other escape sequences have one more character.
	csi     = regexp.MustCompile(`^\x1b\[([0-?]*)[ -/]*([@-~])`)
	partial = regexp.MustCompile(`^\x1b(\[[0-?]*[ -/]*)?$`)
)

// Write adds output.
func (s *Screen) Write(p []byte) (int, error) {
	rest := append(s.pending, p...)
	for len(rest) > 0 && !partial.Match(rest) && (utf8.FullRune(rest) || len(rest) >= utf8.UTFMax) {
		if m := csi.FindSubmatch(rest); m != nil {
			s.runControl(string(m[1]), m[2][0])
			rest = rest[len(m[0]):]
			continue
		}
		if rest[0] == '\x1b' {
			if rest[1] == 'M' {
				s.row = max(0, s.row-1)
			}
			rest = rest[2:]
			continue
		}
		r, size := utf8.DecodeRune(rest)
		s.putRune(r)
		rest = rest[size:]
	}
	s.pending = bytes.Clone(rest)
	return len(p), nil
}

func (s *Screen) putRune(r rune) {
	switch {
	case r == '\r':
		s.column = 0
	case r == '\n':
		s.feedLine()
	case r == '\b':
		s.column = max(0, s.column-1)
	case r == '\t':
		s.column = min(columns-1, s.column/8*8+8)
	case r >= ' ':
		if s.column == columns {
			s.column = 0
			s.feedLine()
		}
		s.lines[s.row] = padLine(s.lines[s.row], s.column+1)
		s.lines[s.row][s.column] = r
		s.column++
	}
}

func (s *Screen) feedLine() {
	if s.row++; s.row == rows {
		s.row--
		s.gone = append(s.gone, trimLine(s.lines[0]))
		copy(s.lines[:], s.lines[1:])
		s.lines[s.row] = nil
	}
}

// runControl carries out the control sequences that bubbletea uses. Those for colours and modes change no text.
func (s *Screen) runControl(parameters string, final byte) {
	first, second, _ := strings.Cut(parameters, ";")
	n := parseNumber(first)
	line := &s.lines[s.row]
	switch final {
	case 'A':
		s.row = max(0, s.row-n)
	case 'B':
		s.row = min(rows-1, s.row+n)
	case 'C':
		s.column = min(columns-1, s.column+n)
	case 'D':
		s.column = max(0, s.column-n)
	case 'Z':
		s.column = max(0, (s.column-1)/8*8)
	case 'G':
		s.column = min(columns, n) - 1
	case 'd':
		s.row = min(rows, n) - 1
	case 'H':
		s.row, s.column = min(rows, n)-1, min(columns, parseNumber(second))-1
	case 'J':
		s.eraseScreen(first)
	case 'K':
		s.eraseLine(first)
	case 'L', 'M':
		for range min(n, rows) {
			if rest := s.lines[s.row:]; final == 'L' {
				copy(rest[1:], rest)
				rest[0] = nil
			} else {
				copy(rest, rest[1:])
				rest[len(rest)-1] = nil
			}
		}
	case 'X':
		*line = padLine(*line, s.column+n)
		blankRunes((*line)[s.column : s.column+n])
	case 'P':
		*line = padLine(*line, s.column+n)
		*line = slices.Delete(*line, s.column, s.column+n)
	case '@':
		*line = slices.Insert(padLine(*line, s.column), s.column, []rune(strings.Repeat(" ", n))...)
	}
}

// eraseScreen erases the screen after the cursor, before it (1), or all of it (2).
func (s *Screen) eraseScreen(part string) {
	s.eraseLine(part)
	if part != "1" {
		clear(s.lines[s.row+1:])
	}
	if part == "1" || part == "2" {
		clear(s.lines[:s.row])
	}
}

func (s *Screen) eraseLine(part string) {
	line := &s.lines[s.row]
	switch part {
	case "1":
		*line = padLine(*line, s.column+1)
		blankRunes((*line)[:s.column+1])
	case "2":
		*line = nil
	default:
		*line = (*line)[:min(s.column, len(*line))]
	}
}

// Text returns the lines that have scrolled off and the screen, without empty lines at the end.
func (s *Screen) Text() string {
	all := slices.Clone(s.gone)
	for _, l := range s.lines {
		all = append(all, trimLine(l))
	}
	return strings.TrimRight(strings.Join(all, "\n"), "\n") + "\n"
}

// parseNumber returns a number that is at least 1, as terminals read it, and not larger than any screen.
func parseNumber(parameter string) int {
	n, err := strconv.Atoi(parameter)
	if err != nil {
		return 1
	}
	return min(max(1, n), 1000)
}

func padLine(line []rune, length int) []rune {
	for len(line) < length {
		line = append(line, ' ')
	}
	return line
}

func blankRunes(part []rune) {
	for i := range part {
		part[i] = ' '
	}
}

func trimLine(line []rune) string { return strings.TrimRight(string(line), " ") }
