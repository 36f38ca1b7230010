package inventory_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"holdfast/engine/inventory"
)

// TestAnsibleInventory checks that an inventory of Ansible is recognised, and that a mistake in HCL is not taken for one.
func TestAnsibleInventory(t *testing.T) {
	for name, text := range map[string]string{
		"hosts.ini":  "[etcd]\nnode-[1:3] ansible_host=10.0.0.1\n[etcd:vars]\nansible_user=core\n",
		"hosts.yml":  "all:\n  hosts:\n    node-1: {ansible_host: 10.0.0.1}\n",
		"hosts":      "# mine\n[web]\na.example\n",
		"hosts.yaml": "---\n# empty\nweb:\n",
		"inventory":  "---\nall:\n  children:\n    web:\n      hosts:\n        a:\n",
		"plain":      "a.example ansible_user=core\n",
		"dynamic":    `{"_meta": {"hostvars": {}}, "web": {"hosts": ["a"]}}`,
	} {
		_, err := inventory.Load(inventory.Source{FS: fstest.MapFS{name: {Data: []byte(text)}}, Paths: []string{name}})
		if err == nil || !strings.Contains(err.Error(), name+" is an inventory of Ansible, and holdfast reads HCL") || strings.Contains(err.Error(), ":1:1") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"upgrade.yaml": "# Upgrades.\n---\n- name: upgrade\n  hosts: all\n",
		"play":         "- hosts: all\n",
	} {
		_, err := inventory.Load(inventory.Source{FS: fstest.MapFS{name: {Data: []byte(text)}}, Paths: []string{name}})
		if err == nil || !strings.Contains(err.Error(), name+" is a playbook, and -i names the inventory: name it without -i") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"site.hcl":  "site \"a\" {\n  ssh {\n",
		"other.hcl": "site \"a\" {}\nhost \"b\" { address = \"x\" pool = \"p\" }\n",
	} {
		_, err := inventory.Load(inventory.Source{FS: fstest.MapFS{name: {Data: []byte(text)}}, Paths: []string{name}})
		if err == nil || strings.Contains(err.Error(), "Ansible") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
