package scenario

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
)

// commandsOf lists the commands of a scenario that change or check hosts, with
// their kind of power switch or signal, and the laws that the scenario checks.
func commandsOf(t *testing.T, s script) []string {
	t.Helper()
	text, err := fs.ReadFile(scripts, s.path)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	body, _, _ := strings.Cut("\n"+string(text), "\n-- ")
	for line := range strings.Lines(body) {
		words := strings.Fields(strings.TrimPrefix(line, "! "))
		switch {
		case len(words) > 1 && (words[0] == "power" || words[0] == "pursue" || words[0] == "crash"):
			found = append(found, words[0]+" "+words[1])
		case len(words) > 2 && words[0] == "signal":
			found = append(found, words[0]+" "+words[2])
		case len(words) > 0 && scriptCommands()[words[0]] != nil:
			found = append(found, words[0])
		}
	}
	for _, law := range laws {
		if strings.Contains(string(text), law) {
			found = append(found, law)
		}
	}
	return found
}

// laws are words in scenarios. Each shows that a scenario checks a certain law of
// roll-outs, in addition to the laws that all scenarios check.
var laws = []string{
	"canary {", "window ", "paused", "failure_budget", "after ", "on_failure", "on_action_failure", "max_unavailable", "max_skew", "drain \"", "gate \"",
	"policy {", "drift ", "allow_outage", "kargs", "playbook", "version_command", "continue-over", "best-effort", "lab zones", "lab small",
}

// TestCoreHasEveryKind checks that the core, which runs for each change, has
// every kind of fault and check. There are exceptions that take several minutes
// and run only with --all: kills and power cuts at each point of a write or of a
// roll-out (the core has one of each), kills after each event of a change of members, a
// hostile account, also one of etcd, a second target, certificates of a cluster that is made anew, the
// writes that a restore keeps, the rates of transfers, versions with the same kernel, for which
// an image of its own is built, and BMCs with the clients of others, which are installed,
// mains, and Kubernetes, whose build takes 20 minutes.
func TestCoreHasEveryKind(t *testing.T) {
	all, err := listScripts()
	if err != nil {
		t.Fatal(err)
	}
	long := []string{"pursue power", "pursue bastion", "crash power", "crash bastion", "siege", "repeat", "toll", "continue-over", "authority", "redate", "killeach", "numbers", "transfers", "commit", "mains", "clients", "kubectl", "api", "kubelet", "budgets", "cluster", "judges"}
	kinds, core := map[string]string{}, map[string]bool{}
	for _, s := range all {
		for _, deed := range commandsOf(t, s) {
			kinds[deed] = s.name
			core[deed] = core[deed] || s.core
		}
	}
	for _, deed := range slices.Sorted(maps.Keys(kinds)) {
		if !core[deed] && !slices.Contains(long, deed) {
			t.Errorf("no scenario of the core has %q, which %s has", deed, kinds[deed])
		}
	}
	if len(kinds) < 30 {
		t.Errorf("only %d kinds were found", len(kinds))
	}
}

func TestSelection(t *testing.T) {
	all, err := listScripts()
	if err != nil {
		t.Fatal(err)
	}
	count := func(r Runner) (n int) {
		for _, s := range all {
			if r.isSelected(s) {
				n++
			}
		}
		return n
	}
	if core := count(Runner{}); core < 15 || core >= len(all) {
		t.Errorf("%d of %d scenarios are the core", core, len(all))
	}
	if n := count(Runner{All: true}); n != len(all) {
		t.Errorf("%d of %d scenarios are all", n, len(all))
	}
}
