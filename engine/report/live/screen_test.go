package live_test

import (
	"regexp"
	"strconv"
	"strings"
)

const columns = 80

// screen is a terminal with the few functions that the live status uses.
type screen struct {
	gone, lines [][]rune
	row, column int
}

func (s *screen) putRune(r rune) {
	switch r {
	case '\r':
		s.column = 0
	case '\n':
		if s.row++; s.row == len(s.lines) {
			s.gone = append(s.gone, s.lines[0])
			s.lines = append(s.lines[1:], nil)
			s.row--
		}
	default:
		if s.column == columns {
			s.column = 0
			s.putRune('\n')
		}
		l := s.lines[s.row]
		for len(l) <= s.column {
			l = append(l, ' ')
		}
		l[s.column] = r
		s.lines[s.row] = l
		s.column++
	}
}

func (s *screen) readEscape(sequence string) {
	m := csi.FindStringSubmatch(sequence)
	if m == nil {
		return // sequences for colours and for the shape of the cursor change no text
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		n = 1
	}
	switch m[2] {
	case "A":
		s.row = max(0, s.row-n)
	case "B":
		s.row = min(len(s.lines)-1, s.row+n)
	case "C":
		s.column += n
	case "D":
		s.column = max(0, s.column-n)
	case "J", "K":
		s.column = min(s.column, columns-1) // so the last letter of a full line is erased
		s.lines[s.row] = s.lines[s.row][:min(s.column, len(s.lines[s.row]))]
		if m[2] == "J" {
			clear(s.lines[s.row+1:])
		}
	case "L":
		for range n {
			copy(s.lines[s.row+1:], s.lines[s.row:])
			s.lines[s.row] = nil
		}
	default:
		panic("the test's screen does not know " + sequence)
	}
}

// onScreen returns the scrolled lines and the screen of a terminal of 24 lines
// after this output, without empty lines at the end.
func onScreen(sent string) string {
	s := screen{lines: make([][]rune, 24)}
	for sent != "" {
		if loc := escapes.FindStringSubmatchIndex(sent); loc != nil && loc[0] == 0 {
			s.readEscape(sent[:loc[1]])
			sent = sent[loc[1]:]
			continue
		}
		r := []rune(sent)[0]
		s.putRune(r)
		sent = sent[len(string(r)):]
	}
	var out []string
	for _, l := range append(s.gone, s.lines...) {
		out = append(out, strings.TrimRight(string(l), " "))
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n")
}

var csi = regexp.MustCompile(`^\x1b\[([0-9]*)([A-Z])$`)
