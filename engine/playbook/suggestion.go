package playbook

import (
	"fmt"
	"strings"

	"holdfast/engine/textutil"
)

func suggestWord(name string, words []string) string {
	if w := textutil.Nearest(name, words); w != "" {
		return fmt.Sprintf("did you mean %q?", w)
	}
	return "use one of " + strings.Join(words, ", ")
}
