package inventory

import "slices"

// otherWords maps names of Ansible, the Machine Config Operator, Kubernetes and
// ssh to the arguments and blocks with that meaning, for a hint. A name is only
// suggested in a block that can have it.
var otherWords = map[string]string{
	"ansible_host":                 "address",
	"ansible_user":                 "user",
	"ansible_port":                 "port",
	"ansible_become":               "become",
	"ansible_become_method":        "become",
	"ansible_become_password_file": "become_password_file",
	"ansible_ssh_private_key_file": "identity",
	"become_file":                  "become_password_file",
	"become_command":               "become_password_command",
	"hostname":                     "address",
	"identity_file":                "identity",
	"private_key_file":             "identity",
	"user_known_hosts_file":        "known_hosts",
	"config_file":                  "ssh_config",
	"group":                        "pool",
	"depends_on":                   "after",
	"serial":                       "max_unavailable",
	"max_fail_percentage":          "failure_budget",
	"osImageURL":                   "image",
	"machine_configs":              "configs",
	"node_disruption_policy":       "policy",
	"cluster":                      "etcd_cluster",
	"near_cluster":                 "near_etcd_cluster",
	"retired":                      "etcd_retired",
	"certificate":                  "cert",
	"cert_file":                    "cert",
	"key_file":                     "key",
	"ca_file":                      "ca",
	"trusted_ca_file":              "ca",
	"time_zone":                    "timezone",
	"tz":                           "timezone",
	"zone":                         "timezone",
	"start":                        "from",
	"end":                          "to",
	"data_folder":                  "data_dir",
	"kube_config":                  "kubeconfig",
	"kube_context":                 "context",
	"kubernetes_cluster":           "kubernetes",
}

// findOtherWord returns the name in the block that has the meaning of a name of
// other tools, or "".
func (b block) findOtherWord(name string) string {
	if word := otherWords[name]; slices.Contains(b.knownNames(), word) {
		return word
	}
	return ""
}
