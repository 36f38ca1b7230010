package playbook

import (
	"fmt"
	"strings"

	"holdfast/engine"
)

// suggestion says which words there are, or which of them was meant.
func suggestion(name string, words []string) string {
	if w := engine.Nearest(name, words); w != "" {
		return fmt.Sprintf("did you mean %q?", w)
	}
	return "there are " + strings.Join(words, ", ")
}
