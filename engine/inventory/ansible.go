package inventory

import (
	"path"
	"regexp"
	"strings"
)

// ansibleAdvice is the next step for a person who has an inventory of Ansible.
const ansibleAdvice = "let `holdfast init --ansible FILE DIR` write one from it, and name DIR with -i (docs/inventory.md)"

var (
	iniGroup      = regexp.MustCompile(`(?m)^\[[A-Za-z0-9_.-]+(:(children|vars|hosts))?\]\s*([#;].*)?$`)
	yamlGroup     = regexp.MustCompile(`(?m)^(---|[A-Za-z0-9_.-]+:)\s*(#.*)?$`)
	yamlHosts     = regexp.MustCompile(`(?m)^\s+(hosts|children|vars):`)
	ansibleMember = regexp.MustCompile(`"(_meta|hostvars|hosts|children)"\s*:|\bansible_[a-z_]+\s*[=:]`)
)

// yamlList matches YAML whose top is a list. An inventory of Ansible is a map.
var yamlList = regexp.MustCompile(`^(\s*(#.*)?\n|---.*\n)*-\s`)

// isPlaybook reports whether a file that is not HCL looks like a playbook.
func isPlaybook(text string) bool { return yamlList.MatchString(text) }

// isAnsible reports whether a file that is not HCL looks like an inventory of Ansible: INI, YAML, or the JSON of a
// script.
func isAnsible(name, text string) bool {
	switch path.Ext(name) {
	case ".ini", ".cfg", ".yml", ".yaml":
		return true
	case ".hcl": // a text of it may hold an INI file
		return false
	}
	switch {
	case strings.HasPrefix(strings.TrimSpace(text), "{"):
		return ansibleMember.MatchString(text)
	case iniGroup.MatchString(text):
		return true
	}
	return yamlGroup.MatchString(text) && yamlHosts.MatchString(text) || ansibleMember.MatchString(text)
}
