package playbook

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Words are all keys that there are, for tests.
func Words() []string {
	words := append(names(playFields()), names(taskFields())...)
	for _, m := range modules() {
		words = append(append(words, m.name), names(m.fields)...)
	}
	return words
}

// Reference is the generated part of docs/playbooks.md.
func Reference() string {
	var b strings.Builder
	b.WriteString("### Plays\n\n")
	table(&b, "key", playFields())
	b.WriteString("### Tasks\n\nA task has the name of one module as a key, and these:\n\n")
	table(&b, "key", taskFields())
	b.WriteString("A module without arguments may also stand alone: `- stage`.\n\n### Modules\n\n")
	b.WriteString("All may stand in `tasks`; those below with a tick also in `pre_tasks` or `post_tasks`.\n\n| module | `pre_tasks` | `post_tasks` | what it does |\n|---|---|---|---|\n")
	tick := map[bool]string{true: "✓"}
	for _, m := range modules() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.name, tick[m.pre], tick[m.post], cell(m.meaning))
	}
	b.WriteString("\n")
	for _, m := range modules() {
		if len(m.fields) > 0 {
			fmt.Fprintf(&b, "#### `%s`\n\n", m.name)
			table(&b, "argument", m.fields)
		}
	}
	b.WriteString("### Words of Ansible that are not there\n\n| word | instead |\n|---|---|\n")
	instead(&b)
	b.WriteString("\n")
	return b.String()
}

// table writes keys with what they take.
func table(b *strings.Builder, title string, fields []field) {
	fmt.Fprintf(b, "| %s | type | default | meaning |\n|---|---|---|---|\n", title)
	for _, f := range fields {
		what, fallback := string(f.kind), f.fallback
		switch f.kind {
		case choice:
			what = "`" + strings.Join(f.choices, "`, `") + "`"
		case number:
			what = fmt.Sprintf("number from %d to %d", f.least, f.most)
		}
		switch {
		case f.required:
			fallback = "required"
		case fallback == "":
			fallback = "none"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", f.name, cell(what), cell(fallback), cell(f.meaning))
	}
	b.WriteString("\n")
}

// instead writes what to do in place of Ansible's words, those together that
// have the same answer.
func instead(b *strings.Builder) {
	advice := map[string][]string{}
	lacks := playLacks()
	maps.Copy(lacks, taskLacks())
	for word, a := range lacks {
		if !strings.Contains(word, ".") && !slices.Contains(Words(), word) { // in another place
			advice[a] = append(advice[a], word)
		}
	}
	var rows []string
	for a, words := range advice {
		slices.Sort(words)
		rows = append(rows, fmt.Sprintf("| `%s` | %s |\n", strings.Join(words, "`, `"), cell(a)))
	}
	slices.Sort(rows)
	b.WriteString(strings.Join(rows, ""))
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
