package planner

import (
	"testing"

	"holdfast/engine"
	"holdfast/engine/resource"
)

// TestChangesOfLoginsAreProved: a new login proves the same change for other hosts, and contents that only one host gets by others of
// the same resource.
func TestChangesOfLoginsAreProved(t *testing.T) {
	t.Parallel()
	shared, own := &resource.Config{}, &resource.Config{}
	change := func(resource, after string) engine.Change {
		return engine.Change{Resource: resource, After: after, Login: true}
	}
	port, otherPort, address, otherAddress := change("sshd", "port 22"), change("sshd", "port 23"), change("network", "10.0.0.1"), change("network", "10.0.0.2")
	quiet := engine.Change{Resource: "motd", After: "hello"}
	for name, c := range map[string]struct {
		proved  []engine.Change
		matches *resource.Config // of a host
		waiting [][]engine.Change
		config  *resource.Config // of the first of these
		want    bool
	}{
		"nothing is proved":            {nil, own, [][]engine.Change{{port}}, shared, false},
		"no login":                     {nil, own, [][]engine.Change{{quiet}}, shared, true},
		"a host matches":               {nil, shared, [][]engine.Change{{port}}, shared, true},
		"the same":                     {[]engine.Change{port}, own, [][]engine.Change{{quiet, port}, {port}}, shared, true},
		"one of two":                   {[]engine.Change{port}, own, [][]engine.Change{{port, address}}, shared, false},
		"another, for one host":        {[]engine.Change{address}, own, [][]engine.Change{{otherAddress}, {change("network", "10.0.0.3")}}, shared, true},
		"another, for several":         {[]engine.Change{port}, own, [][]engine.Change{{otherPort}, {otherPort}}, shared, false},
		"another of another resource":  {[]engine.Change{port}, own, [][]engine.Change{{address}}, shared, false},
		"the same and one of its own":  {[]engine.Change{port, address}, own, [][]engine.Change{{port, otherAddress}, {port}}, shared, true},
		"the same and one of several ": {[]engine.Change{port, address}, own, [][]engine.Change{{port, otherAddress}, {otherAddress}}, shared, false},
	} {
		trial := newLoginTrial(c.proved)
		trial.configs[c.matches] = true
		for _, changes := range c.waiting {
			trial.addWaiting(&engine.HostPlan{Changes: changes})
		}
		if got := trial.isProved(&engine.HostPlan{Changes: c.waiting[0]}, engine.Desired{Config: c.config}); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
