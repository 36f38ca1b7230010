package hoststate

import (
	"testing"

	"holdfast/engine"
	"holdfast/modules/moduletest"
)

// A service that ends a few seconds after each start, as a kubelet with a mistake in its
// configuration does, is not running at any moment, and not failed either
// (https://github.com/ansible/ansible/pull/24778).
func TestServicesThatKeepEnding(t *testing.T) {
	service := func(sub, restarts, began string) string {
		return "NRestarts=" + restarts + "\nId=kubelet.service\nSubState=" + sub + "\nActiveEnterTimestampMonotonic=" + began + "\n"
	}
	for name, c := range map[string]struct {
		text      string
		unsettled bool
	}{
		"for long":                     {service("running", "0", "20000000") + "\nUptime=1000.00\n", false},
		"began a moment ago":           {service("running", "0", "995000000") + "\nUptime=1000.00\n", true},
		"began before":                 {service("running", "0", "989000000") + "\nUptime=1000.00\n", false},
		"began again a moment ago":     {service("running", "3", "989000000") + "\nUptime=1000.00\n", true},
		"began again, and goes on":     {service("running", "3", "900000000") + "\nUptime=1000.00\n", false},
		"ended, and will begin":        {service("auto-restart", "0", "989000000") + "\nUptime=1000.00\n", true},
		"will begin, of newer systemd": {service("auto-restart-queued", "3", "989000000") + "\nUptime=1000.00\n", true},
		"another uptime":               {service("running", "0", "995000000") + "\nUptime=30.00\n", false},
		"no uptime":                    {service("running", "0", "995000000"), false},
		"nothing":                      {"", false},
	} {
		if got := unsettledServices(c.text); (len(got) == 1) != c.unsettled {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Only a host that is held is asked for the starts of its services, because others wait for
// nothing.
func TestStartsAreAskedOfHeldHosts(t *testing.T) {
	b := moduletest.NewBox(t)
	b.Write("starts", "NRestarts=1\nId=a.service\nSubState=running\nActiveEnterTimestampMonotonic=999000000")
	if f := b.ReadFacts(engine.Desired{}, Module()); len(f.Unsettled) > 0 {
		t.Errorf("not held: %q", f.Unsettled)
	}
	b.Hold(engine.RunHold, "r1")
	if f := b.ReadFacts(engine.Desired{}, Module()); len(f.Unsettled) != 1 || len(f.Problems) > 0 {
		t.Errorf("held: %q, problems %q", f.Unsettled, f.Problems)
	}
}
