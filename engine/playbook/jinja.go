package playbook

import (
	"regexp"
	"slices"
	"strings"
)

// Expressions in double braces are Jinja, which Ansible replaces, or templates of Go, as in the formats of podman. Go templates
// differ: a field or a variable begins with . or $, and the arguments of a function follow it after a space.
var (
	doubleBraces   = regexp.MustCompile(`(?s)\{\{(.*?)\}\}`)
	jinjaStatement = regexp.MustCompile(`(?s)\{%[-+]?\s*(?:if|elif|else|endif|for|endfor|set|endset|raw|endraw|block|endblock|macro|endmacro|call|filter|include|import|from|with|do)\b.*?%\}`)
	goAction       = regexp.MustCompile("(?s)^(?:" +
		"[.$].*|/\\*.*\\*/|end|else|break|continue" + // a field, a variable, a comment
		"|\"[^\"{}]*\"|`[^`{}]*`" + // a text alone; Jinja knows no `, and a text of braces is how it escapes them
		"|(?:\\(*(?:else\\s+)?\\w+\\s+)+\\(*[.$\"`].*" + // functions with their first argument, perhaps in parentheses
		"|\\(+[.$].*" +
		")$")
)

// joinsWithOperator reports whether an action begins with a word and an operator of Jinja, which may stand before a text, too: x if y == "z".
func joinsWithOperator(action string) bool {
	words := strings.Fields(action)
	if len(words) < 2 {
		return false
	}
	if slices.Contains([]string{"if", "else", "with", "range", "not", "and", "or"}, words[0]) { // as Go has them
		return strings.HasPrefix(words[1], `"`) && words[0] == "not"
	}
	return slices.Contains([]string{"not", "and", "or", "in", "is", "if"}, words[1])
}

// findJinja returns the place of the first expression or statement of Jinja in a text.
func findJinja(text string) (start, end int, found bool) {
	start = len(text)
	for _, m := range doubleBraces.FindAllStringSubmatchIndex(text, -1) {
		action := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(text[m[2]:m[3]], "-"), "-"))
		if action != "" && (!goAction.MatchString(action) || joinsWithOperator(action)) {
			start, end, found = m[0], m[1], true
			break
		}
	}
	if m := jinjaStatement.FindStringIndex(text); m != nil && m[0] < start {
		return m[0], m[1], true
	}
	return start, end, found
}
