// Package playbook reads playbooks: YAML files with Ansible's words, each task
// a module by name. The tables in keys.go and modules.go are all there is to
// know about the language: the parser, the JSON Schema for editors and the
// reference in docs/playbooks.md come from them. It reads one file and touches
// nothing.
package playbook
