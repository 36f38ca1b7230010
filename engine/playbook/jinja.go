package playbook

import (
	"regexp"
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
		"|\\w+\\s+[.$].*" + // a function of any program with its first argument
		"|(?:else\\s+)?(?:range|if|with|and|or|not|len|index|slice|print|printf|println|eq|ne|lt|le|gt|ge|json|join|split|define|template|block)\\s+(?:\\w+\\s+)*[.$\"`(].*" +
		")$")
)

// findJinja returns the place of the first expression or statement of Jinja in a text.
func findJinja(text string) (start, end int, found bool) {
	start = len(text)
	for _, m := range doubleBraces.FindAllStringSubmatchIndex(text, -1) {
		action := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(text[m[2]:m[3]], "-"), "-"))
		if action != "" && !goAction.MatchString(action) {
			start, end, found = m[0], m[1], true
			break
		}
	}
	if m := jinjaStatement.FindStringIndex(text); m != nil && m[0] < start {
		return m[0], m[1], true
	}
	return start, end, found
}
