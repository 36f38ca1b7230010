package playbook

import (
	"fmt"
	"strings"

	"holdfast/engine/textutil"
)

// suggestWord says which words there are, or which of them was meant.
func suggestWord(name string, words []string) string {
	if w := textutil.Nearest(name, words); w != "" {
		return fmt.Sprintf("did you mean %q?", w)
	}
	return "there are " + strings.Join(words, ", ")
}
