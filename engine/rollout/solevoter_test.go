package rollout_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/simulator"
)

// shrunkCluster is a cluster of three hosts, of which two have given up their voters and leave the site.
func shrunkCluster() engine.Inventory {
	inv := simulator.Fleet(3, 0)
	inv.Clusters[0].AllowOutage = true
	for i := range inv.Hosts[1:] {
		inv.Hosts[i+1].Retired, inv.Hosts[i+1].Leaving = true, true
	}
	return inv
}

// TestTheLastVoterReboots: the last voter of a cluster that was shrunk has nobody to hand the leadership to. Its outage is allowed, so it
// is updated all the same.
func TestTheLastVoterReboots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(shrunkCluster())
		b := site.Bastion("run-1")
		if err := checkEnd(applyRun(b, runSerially), engine.ExitOK); err != nil {
			t.Errorf("%v\n%s", err, runTranscript(b))
		}
		failOnErrors(t, checkLaws(site), checkUpdated(site.Host("etcd-0")), checkUntouched(site.Host("etcd-1")), checkUntouched(site.Host("etcd-2")))
	})
}

// TestLeavingHostsDoNotSlowStaging: nobody measures the disks of hosts that leave the site, so nobody waits for them.
func TestLeavingHostsDoNotSlowStaging(t *testing.T) {
	pace := map[bool]string{}
	for _, shrunk := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			inv := onlyMember()
			if shrunk {
				inv = shrunkCluster()
			}
			b := newSite(inv).Bastion("run-1")
			applyRun(b, runSerially)
			for _, e := range b.Events() {
				if e.Governor != nil {
					pace[shrunk] += fmt.Sprintf("%s for %s\n", e.Governor.State, e.Governor.SlowedFor)
				}
			}
		})
	}
	if pace[true] != pace[false] || pace[true] == "" {
		t.Errorf("staged with hosts that leave:\n%s\nwithout them:\n%s", pace[true], pace[false])
	}
}

// TestNoOutageOfAnotherVoter: a host that is to give up its voter still has it, and fails once the leader begins to move. The other
// voter is not the only one, so it is not rebooted without a leader that takes over.
func TestNoOutageOfAnotherVoter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inv := simulator.Fleet(2, 0)
		inv.Clusters[0].AllowOutage = true
		inv.Hosts[1].Retired, inv.Hosts[1].Paused = true, true
		site := newSite(inv)
		s := failureWorld{Site: site, run: site.Bastion("run-1")}
		s.doAtStep("etcd-0", "move etcd leader", site.Host("etcd-1").StopEtcd)
		if err := checkEnd(applyRun(s.run, runSerially), engine.ExitFailed); err != nil {
			t.Errorf("%v\n%s", err, runTranscript(s.run))
		}
		if st := site.Host("etcd-0").State(); len(st.Reboots) > 0 {
			t.Errorf("it was rebooted: %+v", st)
		}
		failOnErrors(t, checkLaws(site))
	})
}

// TestLeavingHostsHoldNothing: the last voter of a cluster that was shrunk goes down after its hold is taken. The hosts that leave the site
// are not held by anybody, so nobody waits for them: the run is unsafe, and not refused.
func TestLeavingHostsHoldNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(shrunkCluster())
		s := failureWorld{Site: site, run: site.Bastion("run-1")}
		s.doAtStep("etcd-0", "check quorum", site.Host("etcd-0").StopEtcd)
		end := applyRun(s.run, runSerially)
		if err := checkEnd(end, engine.ExitFailed); err != nil {
			t.Errorf("%v\n%s", err, runTranscript(s.run))
		}
		if text := findingsText(end); strings.Contains(text, "held: ") {
			t.Errorf("hosts that leave count as held:\n%s", text)
		}
		failOnErrors(t, checkNotRebooted(site.Host("etcd-0")), checkLaws(site))
	})
}
