package playbook

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Words returns all keys, for tests.
func Words() []string {
	words := append(fieldNames(playFields()), fieldNames(taskFields())...)
	for _, m := range allModules() {
		words = append(append(words, m.name), fieldNames(m.arguments)...)
	}
	return words
}

// Reference returns the generated part of docs/playbooks.md.
func Reference() string {
	var b strings.Builder
	b.WriteString("### Plays\n\n")
	writeTable(&b, "key", playFields())
	b.WriteString("### Tasks\n\nA task has the name of one module as a key, and these:\n\n")
	writeTable(&b, "key", taskFields())
	b.WriteString("A module without arguments may also stand alone: `- stage`.\n\n### Modules\n\n")
	b.WriteString("All may stand in `tasks`; those below with a tick also in `pre_tasks` or `post_tasks`.\n\n| module | `pre_tasks` | `post_tasks` | what it does |\n|---|---|---|---|\n")
	tick := map[bool]string{true: "✓"}
	for _, m := range allModules() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.name, tick[m.inPreTasks], tick[m.inPostTasks], tableCell(m.meaning))
	}
	b.WriteString("\n")
	for _, m := range allModules() {
		if len(m.arguments) > 0 {
			fmt.Fprintf(&b, "#### `%s`\n\n", m.name)
			writeTable(&b, "argument", m.arguments)
		}
	}
	b.WriteString("### Words of Ansible that are not there\n\n| word | instead |\n|---|---|\n")
	writeUnsupportedWords(&b)
	b.WriteString("\n")
	return b.String()
}

func writeTable(b *strings.Builder, title string, fields []field) {
	fmt.Fprintf(b, "| %s | type | default | meaning |\n|---|---|---|---|\n", title)
	for _, f := range fields {
		kindText, fallback := string(f.kind), f.fallback
		switch f.kind {
		case choiceKind:
			kindText = "`" + strings.Join(f.choices, "`, `") + "`"
		case numberKind:
			kindText = fmt.Sprintf("number from %d to %d", f.least, f.most)
		}
		switch {
		case f.required:
			fallback = "required"
		case fallback == "":
			fallback = "none"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", f.name, tableCell(kindText), tableCell(fallback), tableCell(f.meaning))
	}
	b.WriteString("\n")
}

// writeUnsupportedWords writes the unsupported words of Ansible, grouped by
// their advice.
func writeUnsupportedWords(b *strings.Builder) {
	advice := map[string][]string{}
	lacks := unsupportedPlayWords()
	maps.Copy(lacks, unsupportedTaskWords())
	for word, a := range lacks {
		if !strings.Contains(word, ".") && !slices.Contains(Words(), word) { // in another place
			advice[a] = append(advice[a], word)
		}
	}
	var rows []string
	for a, words := range advice {
		slices.Sort(words)
		rows = append(rows, fmt.Sprintf("| `%s` | %s |\n", strings.Join(words, "`, `"), tableCell(a)))
	}
	slices.Sort(rows)
	b.WriteString(strings.Join(rows, ""))
}

func tableCell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// IsTranslated reports whether a playbook has tasks that the schema leaves to the parser.
func IsTranslated(text string) bool {
	var root yaml.Node
	if yaml.Unmarshal([]byte(text), &root) != nil {
		return false
	}
	pattern := regexp.MustCompile(translated())
	var search func(*yaml.Node) bool
	search = func(n *yaml.Node) bool {
		return n.Kind == yaml.ScalarNode && pattern.MatchString(n.Value) || slices.ContainsFunc(n.Content, search)
	}
	return search(&root)
}

// FindJinja is findJinja.
var FindJinja = findJinja
