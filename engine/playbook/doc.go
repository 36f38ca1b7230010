// Package playbook reads playbooks: YAML files with the keys of Ansible, in which
// each task names a module. The tables in keys.go and modules.go define the
// language. The parser, the JSON Schema for editors and the reference in
// docs/playbooks.md are based on them. The package reads one file and has no
// other effect.
package playbook
