package report_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/report/planview"
	"holdfast/engine/report/tables"
	"holdfast/engine/report/termtext"
)

var (
	none          = []engine.Action{{Type: engine.NoAction}}
	reloadCrio    = []engine.Action{{Type: engine.ReloadUnit, Unit: "crio.service"}}
	restartChrony = []engine.Action{{Type: engine.ReloadDaemon}, {Type: engine.RestartUnit, Unit: "chronyd.service"}}
	trust         = []engine.Action{{Type: engine.RestartUnit, Unit: "coreos-update-ca-trust.service"}, {Type: engine.RestartUnit, Unit: "crio.service"}}
)

func configChange(verb, resource, rule string, actions []engine.Action) engine.Change {
	c := engine.Change{Module: "config", Kind: kindOfResource(resource), Resource: resource, Verb: verb, Rule: rule, Actions: actions, Before: "sha256:1a2b3c4d5e6f 0644", After: "sha256:9f8e7d6c5b4a 0644"}
	switch verb {
	case "create":
		c.Before = "absent"
	case "delete":
		c.After = "absent"
	}
	return c
}

func withReason(c engine.Change, why string) engine.Change {
	c.Why = why
	return c
}

func asDrift(c engine.Change) engine.Change {
	c.Drift = true
	return c
}

func userChange(name string) engine.Change {
	c := configChange("update", "user "+name, "built-in: SSH keys and password hashes", none)
	c.Before, c.After = "1 SSH key", "2 SSH keys"
	return c
}

// hostWithChanges returns a host with these changes and actions. Like a real plan it uses one step for a host
// without disruption.
func hostWithChanges(host string, actions []engine.Action, changes ...engine.Change) engine.HostPlan {
	hp := engine.HostPlan{Host: host, Pool: "worker", Changes: changes, Actions: actions}
	exec := &engine.Exec{Script: "x", Fallback: true, Uploads: []engine.Upload{{Name: "1", Data: []byte("hunter2")}}}
	write := engine.Step{Name: "write", On: host, Timeout: engine.Duration(12 * time.Minute), ChangesHost: true, Do: engine.Op{Exec: exec}}
	hold := engine.Step{Name: "hold", On: host, Timeout: engine.Duration(time.Minute), Do: engine.Op{TakeHold: &engine.TakeHold{}}}
	if hp.Sequence = []engine.Step{write}; !hp.NonDisruptive() {
		hp.Sequence = []engine.Step{hold, write}
	}
	return hp
}

const noRule = "default: no rule"

// inDirectory returns changes of n files of one rule.
func inDirectory(verb, dir string, n int) []engine.Change {
	var list []engine.Change
	for i := range n {
		list = append(list, configChange(verb, fmt.Sprintf("file %s/%03d.yaml", dir, i), "built-in: "+dir, reloadCrio))
	}
	return list
}

// configPlans returns plans of configurations, by their subject.
func configPlans() map[string]engine.Plan {
	policy := withReason(configChange("update", "file /etc/containers/policy.json", "built-in: /etc/containers/policy.json", reloadCrio), "contents")
	chrony := configChange("update", "file /etc/chrony.conf", "policy: path /etc/chrony.conf", restartChrony)
	ca := configChange("create", "file /etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt", "built-in: /etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt", trust)
	sysctl := configChange("create", "file /etc/sysctl.d/90-mine.conf", noRule, reboot)
	image := engine.Change{Module: "os", Resource: "os", Before: "1.0 (ffe304ca31ef)", After: "bc30253b4147", Rule: "built-in: an OS image takes effect at a reboot", Actions: reboot}
	karg := engine.Change{Module: "os", Kind: "kernel argument", Resource: "kernel argument nosmt", Before: "absent", After: "nosmt", Rule: "fixed: kernel arguments", Verb: "create", Actions: reboot}
	unit := withReason(configChange("delete", "unit old.service", noRule, reboot), "no rule covers it")
	batch := func(hosts ...string) engine.Batch {
		return engine.Batch{Pools: []string{"worker"}, Hosts: hosts}
	}
	many := append(inDirectory("delete", "/etc/containers/registries.d", 3), inDirectory("create", "/etc/containers/registries.d", 397)...)
	many = append(many, inDirectory("update", "/etc/crio/policies", 12)...)
	staged := hostWithChanges("worker-02", reboot, image, karg, sysctl, policy)
	staged.Stage = osPlan("worker-02", "worker", "", "").Stage
	stops := hostWithChanges("worker-03", restartChrony, chrony)
	stops.Sequence = slices.Clone(stops.Sequence[:1])
	return map[string]engine.Plan{
		"quiet": {
			Hosts:   []engine.HostPlan{hostWithChanges("worker-01", reloadCrio, policy, userChange("core")), hostWithChanges("worker-02", reloadCrio, policy, userChange("core")), hostWithChanges("worker-03", none, userChange("core"))},
			Batches: []engine.Batch{batch("worker-01", "worker-02", "worker-03")}, Matching: []string{"worker-04"},
		},
		"many": {Hosts: []engine.HostPlan{hostWithChanges("worker-01", reloadCrio, many...)}, Batches: []engine.Batch{batch("worker-01")}},
		"actions": {Hosts: []engine.HostPlan{
			hostWithChanges("worker-01", slices.Concat([]engine.Action{{Type: engine.ReloadDaemon}}, trust[:1], reloadCrio, trust[1:], restartChrony[1:]), policy, chrony, ca),
			staged, stops, hostWithChanges("worker-04", reboot, image, unit), hostWithChanges("worker-05", reloadCrio, policy),
		}, Lanes: []engine.Lane{{Hosts: []string{"worker-02"}}}, Batches: []engine.Batch{batch("worker-01", "worker-05"), batch("worker-02"), batch("worker-03"), batch("worker-04")}},
		"drift": {
			Hosts:   []engine.HostPlan{hostWithChanges("worker-01", restartChrony, userChange("core"), asDrift(chrony)), hostWithChanges("worker-02", restartChrony, asDrift(chrony))},
			Batches: []engine.Batch{batch("worker-01"), batch("worker-02")},
			Drift:   []engine.HostDrift{{Host: "edge-01", Changes: []engine.Change{asDrift(chrony)}}, {Host: "edge-02", Changes: []engine.Change{asDrift(chrony)}}, {Host: "edge-03", Changes: []engine.Change{asDrift(configChange("create", "file /etc/motd", noRule, reboot))}}},
		},
		"reboot-and-service": {Hosts: []engine.HostPlan{hostWithChanges("worker-01", reboot,
			engine.Change{Resource: "reboot", Rule: "playbook: reboot", Task: true, Actions: reboot},
			engine.Change{Resource: "restart chronyd.service", Rule: "playbook: chronyd", Task: true, Actions: restartChrony[1:]},
		)}, Batches: []engine.Batch{batch("worker-01")}},
		"drift-only": {Matching: []string{"edge-02", "edge-03"}, Drift: []engine.HostDrift{{Host: "edge-01", Changes: []engine.Change{asDrift(chrony)}}}},
	}
}

// TestWriteConfigPlan: plans of configurations are readable at any size.
func TestWriteConfigPlan(t *testing.T) {
	for name, p := range configPlans() {
		for suffix, verbose := range map[string]bool{"": false, "-verbose": true} {
			if verbose && name != "actions" && name != "drift" {
				continue
			}
			var b bytes.Buffer
			if err := planview.Write(&b, p, termtext.Style{}, verbose); err != nil {
				t.Fatal(err)
			}
			compareGolden(t, "plan-config-"+name+suffix, b.String())
		}
	}
}

// TestStatusOfConfigs: the notes about pending and reported changes fit on a narrow terminal.
func TestStatusOfConfigs(t *testing.T) {
	note := "file /etc/chrony.conf sha256:1a2b3c4d5e6f 0644 → sha256:9f8e7d6c5b4a 0644, unit chronyd.service enabled → sha256:9f8e7d6c5b4a, enabled, user core 1 SSH key → 2 SSH keys, and 497 more"
	s := engine.Status{
		Site:  "berlin",
		Pools: []engine.PoolStatus{{Name: "worker", Total: 4, Counts: map[engine.HostState]int{engine.Pending: 1, engine.Drifted: 2, engine.Unreached: 1}}},
		Hosts: []engine.HostStatus{
			{Host: "worker-01", State: engine.Drifted, Version: "1.0", Booted: "ffe304ca31ef56c1", Note: "drift, only reported: " + note},
			{Host: "worker-02", State: engine.Drifted, Version: "1.0", Booted: "ffe304ca31ef56c1", Note: "drift, only reported: " + note},
			{Host: "worker-03", State: engine.Pending, Version: "1.0", Booted: "ffe304ca31ef56c1", Note: "user core 1 SSH key → 2 SSH keys"},
			{Host: "worker-04", State: engine.Unreached, Note: "connect to 10.0.1.4:22: no answer within 10s, and none from its jump host either"},
		},
	}
	var b bytes.Buffer
	if err := tables.WriteStatus(&b, s, termtext.Style{}, false); err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "status-configs", b.String())
}

// TestFoldedChangesTellApart: hosts are not folded if they differ only in a part that the plan hides.
func TestFoldedChangesTellApart(t *testing.T) {
	changes := inDirectory("create", "/etc/containers/registries.d", 40)
	other := append(slices.Clone(changes[:39]), configChange("create", "file /etc/containers/registries.d/other.yaml", changes[0].Rule, reloadCrio))
	p := engine.Plan{Hosts: []engine.HostPlan{hostWithChanges("worker-01", reloadCrio, changes...), hostWithChanges("worker-02", reloadCrio, other...), hostWithChanges("worker-03", reloadCrio, changes...)}}
	var b bytes.Buffer
	if err := planview.Write(&b, p, termtext.Style{}, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"worker-[01,03] (2 hosts) pool worker", "\nworker-02 pool worker"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}

// kindOfResource returns the kind of a resource in these tests: file for file /etc/motd.
func kindOfResource(resource string) string {
	kind, name, _ := strings.Cut(resource, " ")
	if strings.HasPrefix(name, "group/") {
		return "group"
	}
	return kind
}
