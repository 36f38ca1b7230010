package inventory

import (
	"strings"

	"github.com/agext/levenshtein"
)

// nearest is the word most like name, or "" if none is.
func nearest(name string, words []string) string {
	best, most := "", 3
	for _, w := range words {
		if d := levenshtein.Distance(strings.ToLower(name), w, nil); d < most && d < len(w) {
			best, most = w, d
		}
	}
	return best
}

func listed(words []string) string {
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, ", ")
}
