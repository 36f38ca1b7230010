package textutil

import "strings"

// Nearest returns the word most similar to an unknown name, or "" if none is similar.
func Nearest(name string, words []string) string {
	best, most := "", 3
	for _, w := range words {
		if d := editDistance(strings.ToLower(name), strings.ToLower(w)); d < most && 2*d <= len(w) {
			best, most = w, d
		}
	}
	return best
}

func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
