// Package playbook reads playbooks: YAML files with Ansible's words, each task
// a module by name.
package playbook
