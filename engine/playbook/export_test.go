package playbook

// Words are all keys that there are, for tests.
func Words() []string {
	words := append(names(playFields()), names(taskFields())...)
	for _, m := range modules() {
		words = append(append(words, m.name), names(m.fields)...)
	}
	return words
}
