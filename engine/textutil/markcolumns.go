package textutil

import (
	"fmt"
	"strings"
)

// MarkColumns returns a line of a file for people: its number, the line, and
// below it marks that begin at a column. Numbers and columns count from 1. A
// very long line is cut around the marks.
func MarkColumns(number int, line string, column, width int) string {
	line, column = excerptAround(HideURLPasswords(line), column)
	width = max(1, min(width, len([]rune(line))-column+1))
	head := fmt.Sprintf("%5d", number)
	return fmt.Sprintf("%s | %s\n%s | %s%s", head, Printable(line), strings.Repeat(" ", len(head)), indentLike(line, column-1), strings.Repeat("^", width))
}

func excerptAround(line string, column int) (string, int) {
	const long, before = 200, 80
	runes := []rune(line)
	if len(runes) <= long {
		return line, column
	}
	from := min(max(0, column-1-before), len(runes)-long)
	shown := string(runes[from : from+long])
	if from > 0 {
		shown, column = "…"+shown, column-from+1
	}
	if from+long < len(runes) {
		shown += "…"
	}
	return shown, column
}

func indentLike(line string, n int) string {
	var b strings.Builder
	for i, r := range []rune(line) {
		if i >= n {
			break
		}
		if r != '\t' {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}
