package reporttest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
)

// ConfigChange returns a change of a resource of a configuration.
func ConfigChange(verb, resource, rule string, actions []engine.Action) engine.Change {
	c := engine.Change{Module: "config", Kind: kindOfResource(resource), Resource: resource, Verb: engine.Verb(verb), Rule: rule, Actions: actions, Before: "sha256:1a2b3c4d5e6f 0644", After: "sha256:9f8e7d6c5b4a 0644"}
	switch verb {
	case "create":
		c.Before = "absent"
	case "delete":
		c.After = "absent"
	}
	return c
}

func withReason(c engine.Change, why string) engine.Change {
	c.Reason = why
	return c
}

// AsDrift returns the change as drift.
func AsDrift(c engine.Change) engine.Change {
	c.Drift = true
	return c
}

// UserChange returns a change of a user.
func UserChange(name string) engine.Change {
	c := ConfigChange("update", "user "+name, "built-in: SSH keys and password hashes", None)
	c.Before, c.After = "1 SSH key", "2 SSH keys"
	return c
}

// HostWithChanges returns a host with these changes and actions. As in a real
// plan, a host without disruption has one step.
func HostWithChanges(host string, actions []engine.Action, changes ...engine.Change) engine.HostPlan {
	hp := engine.HostPlan{Host: host, Pool: "worker", Changes: changes, Actions: actions}
	exec := &engine.Exec{Script: engine.NewScript("x"), Fallback: true, Uploads: []engine.Upload{{Name: "1", Data: []byte("hunter2")}}}
	write := engine.Step{Name: "write", On: host, Timeout: engine.Duration(12 * time.Minute), ChangesHost: true, Do: engine.Op{Exec: exec}}
	hold := engine.Step{Name: "hold", On: host, Timeout: engine.Duration(time.Minute), Do: engine.Op{TakeHold: &engine.TakeHold{}}}
	if hp.Sequence = []engine.Step{write}; !hp.NonDisruptive() {
		hp.Sequence = []engine.Step{hold, write}
	}
	return hp
}

// NoRule is the rule of a change that no rule of the policy matches.
const NoRule = "default: no rule"

// InDirectory returns changes of n files of one rule.
func InDirectory(verb, dir string, n int) []engine.Change {
	var list []engine.Change
	for i := range n {
		list = append(list, ConfigChange(verb, fmt.Sprintf("file %s/%03d.yaml", dir, i), "built-in: "+dir, ReloadCrio))
	}
	return list
}

// ConfigPlans returns plans of configurations, by their subject.
func ConfigPlans() map[string]engine.Plan {
	policy := withReason(ConfigChange("update", "file /etc/containers/policy.json", "built-in: /etc/containers/policy.json", ReloadCrio), "contents")
	chrony := ConfigChange("update", "file /etc/chrony.conf", "policy: path /etc/chrony.conf", restartChrony)
	ca := ConfigChange("create", "file /etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt", "built-in: /etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt", trust)
	sysctl := ConfigChange("create", "file /etc/sysctl.d/90-mine.conf", NoRule, Reboot)
	image := engine.Change{Module: "os", Resource: "os", Before: "1.0 (ffe304ca31ef)", After: "bc30253b4147", Rule: "built-in: an OS image takes effect at a reboot", Actions: Reboot}
	karg := engine.Change{Module: "os", Kind: engine.KernelArgKind, Resource: "kernel argument nosmt", Before: "absent", After: "nosmt", Rule: "fixed: kernel arguments", Verb: "create", Actions: Reboot}
	unit := withReason(ConfigChange("delete", "unit old.service", NoRule, Reboot), "no rule covers it")
	batch := func(hosts ...string) engine.Batch {
		return engine.Batch{Pools: []string{"worker"}, Hosts: hosts}
	}
	many := append(InDirectory("delete", "/etc/containers/registries.d", 3), InDirectory("create", "/etc/containers/registries.d", 397)...)
	many = append(many, InDirectory("update", "/etc/crio/policies", 12)...)
	staged := HostWithChanges("worker-02", Reboot, image, karg, sysctl, policy)
	staged.Stage = OSPlan("worker-02", "worker", "", "").Stage
	stops := HostWithChanges("worker-03", restartChrony, chrony)
	stops.Sequence = slices.Clone(stops.Sequence[:1])
	return map[string]engine.Plan{
		"quiet": {
			Hosts:   []engine.HostPlan{HostWithChanges("worker-01", ReloadCrio, policy, UserChange("core")), HostWithChanges("worker-02", ReloadCrio, policy, UserChange("core")), HostWithChanges("worker-03", None, UserChange("core"))},
			Batches: []engine.Batch{batch("worker-01", "worker-02", "worker-03")}, Matching: []string{"worker-04"},
		},
		"many": {Hosts: []engine.HostPlan{HostWithChanges("worker-01", ReloadCrio, many...)}, Batches: []engine.Batch{batch("worker-01")}},
		"actions": {Hosts: []engine.HostPlan{
			HostWithChanges("worker-01", slices.Concat([]engine.Action{{Type: engine.ReloadDaemon}}, trust[:1], ReloadCrio, trust[1:], restartChrony[1:]), policy, chrony, ca),
			staged, stops, HostWithChanges("worker-04", Reboot, image, unit), HostWithChanges("worker-05", ReloadCrio, policy),
		}, Lanes: []engine.Lane{{Hosts: []string{"worker-02"}}}, Batches: []engine.Batch{batch("worker-01", "worker-05"), batch("worker-02"), batch("worker-03"), batch("worker-04")}},
		"drift": {
			Hosts:   []engine.HostPlan{HostWithChanges("worker-01", restartChrony, UserChange("core"), AsDrift(chrony)), HostWithChanges("worker-02", restartChrony, AsDrift(chrony))},
			Batches: []engine.Batch{batch("worker-01"), batch("worker-02")},
			Drift:   []engine.HostDrift{{Host: "edge-01", Changes: []engine.Change{AsDrift(chrony)}}, {Host: "edge-02", Changes: []engine.Change{AsDrift(chrony)}}, {Host: "edge-03", Changes: []engine.Change{AsDrift(ConfigChange("create", "file /etc/motd", NoRule, Reboot))}}},
		},
		"reboot-and-service": {Hosts: []engine.HostPlan{HostWithChanges("worker-01", Reboot,
			engine.Change{Resource: "reboot", Rule: "playbook: reboot", Task: true, Actions: Reboot},
			engine.Change{Resource: "restart chronyd.service", Rule: "playbook: chronyd", Task: true, Actions: restartChrony[1:]},
		)}, Batches: []engine.Batch{batch("worker-01")}},
		"drift-only": {Matching: []string{"edge-02", "edge-03"}, Drift: []engine.HostDrift{{Host: "edge-01", Changes: []engine.Change{AsDrift(chrony)}}}},
	}
}

var (
	None          = []engine.Action{{Type: engine.NoAction}}
	ReloadCrio    = []engine.Action{{Type: engine.ReloadUnit, Unit: "crio.service"}}
	restartChrony = []engine.Action{{Type: engine.ReloadDaemon}, {Type: engine.RestartUnit, Unit: "chronyd.service"}}
	trust         = []engine.Action{{Type: engine.RestartUnit, Unit: "coreos-update-ca-trust.service"}, {Type: engine.RestartUnit, Unit: "crio.service"}}
)

func kindOfResource(resource string) engine.Kind {
	kind, _, _ := strings.Cut(resource, " ")
	return engine.Kind(kind)
}
