package playbook

import (
	"fmt"
	"strings"

	"github.com/agext/levenshtein"
)

// nearest is the word most like name, or "" if none is.
func nearest(name string, words []string) string {
	best, most := "", 3
	for _, w := range words {
		if d := levenshtein.Distance(strings.ToLower(name), strings.ToLower(w), nil); d < most && 2*d <= len(w) {
			best, most = w, d
		}
	}
	return best
}

// suggestion says which words there are, or which of them was meant.
func suggestion(name string, words []string) string {
	if w := nearest(name, words); w != "" {
		return fmt.Sprintf("did you mean %q?", w)
	}
	return "there are " + strings.Join(words, ", ")
}
