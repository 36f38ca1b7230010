package osimage

import (
	"strings"
	"testing"

	"holdfast/engine"
)

const bootcService = "bootc-fetch-apply-updates.service"

// TestTheTimerOfBootcLeavesTheStagedDeploymentAlone: its service would unlock what holdfast has staged, whichever tool
// has, and reboot the host at once. A service that works already when the staging begins is ended, because it waits for ostree.
func TestTheTimerOfBootcLeavesTheStagedDeploymentAlone(t *testing.T) {
	onSites(t, []string{"bootc", "bootc 1.2", "bootc 1.9", "bootc on ostree 2022.7", "rpm-ostree image", "ostree"}, func(b *osHost, s site, d engine.Desired) {
		b.Write("unit-files/"+bootcService, "static")
		b.Write("units/"+bootcService, "activating")
		b.Want(b.stage(d), 0, "staged and locked")
		if b.Exists("units/" + bootcService) {
			b.T.Errorf("the service still works:\n%s", b.Log())
		}
		for range 2 {
			b.Run("systemctl start " + bootcService)
			if !b.isReady(d) || strings.Contains(b.Log(), "rebooted") || strings.Contains(b.Log(), "bootc upgrade") {
				b.T.Fatalf("the timer applies the staged deployment:\n%s", b.Log())
			}
			b.Run("ostree admin undeploy 0") // staged again, with the drop-in of before
			b.Want(b.stage(d), 0, "staged and locked")
		}
		log := b.Log()
		if at, lock := strings.Index(log, "daemon-reload"), strings.Index(log, "systemctl stop "+bootcService); at < 0 || lock < at {
			b.T.Errorf("the service is stopped before systemd knows the condition:\n%s", log)
		}
		b.Run("ostree admin undeploy 0")
		b.Run("systemctl start " + bootcService)
		if !strings.Contains(b.Log(), "bootc upgrade") {
			b.T.Error("nothing is staged any more, and the timer does nothing")
		}
	})
}

// TestTheTimerOfBootcLeavesAKilledStagingAlone: the daemon of rpm-ostree replaces the staged image by one with other kernel
// arguments, and ostree removes the lock file with the first one. A staging that is killed then leaves a deployment that only
// its own lock protects, which the service of bootc's timer would remove.
func TestTheTimerOfBootcLeavesAKilledStagingAlone(t *testing.T) {
	onSites(t, []string{"rpm-ostree image"}, func(b *osHost, _ site, d engine.Desired) {
		d = withArgs(d)
		b.Write("unit-files/"+bootcService, "static")
		script := b.steps(d).Stage[0].Do.Exec.Script.String()
		killed := strings.Replace(script, "stage_os \"$@\"\n", "stage_os \"$@\"; trap - EXIT; exit 137\n", 1)
		if killed == script {
			b.T.Fatal("the script has no such line")
		}
		b.Want(b.Run(killed), 137, "is not staged")
		if !b.Exists("staged") || b.Exists("run/ostree/staged-deployment-locked") {
			b.T.Fatalf("staged %v, lock file %v", b.Exists("staged"), b.Exists("run/ostree/staged-deployment-locked"))
		}
		b.Run("systemctl start " + bootcService)
		if log := b.Log(); strings.Contains(log, "bootc upgrade") || strings.Contains(log, "rebooted") {
			b.T.Errorf("the timer applies the staged deployment:\n%s", log)
		}
		b.Want(b.stage(d), 0, "staged and locked")
	})
}

// TestHostsWithoutTheTimerOfBootcGetNoDropIn checks that staging leaves no trace of the timer where there is none.
func TestHostsWithoutTheTimerOfBootcGetNoDropIn(t *testing.T) {
	onSites(t, []string{"bootc"}, func(b *osHost, _ site, d engine.Desired) {
		b.Want(b.stage(d), 0, "staged and locked")
		if b.Exists("run/systemd/system/" + bootcService + ".d") {
			b.T.Error("a drop-in for a unit that is not there")
		}
	})
}

// TestAFailedStagingLeavesNoLock checks that no driver leaves a lock for the next deployment, which a person may stage.
func TestAFailedStagingLeavesNoLock(t *testing.T) {
	onSites(t, []string{"ostree", "rpm-ostree image", "rpm-ostree rebase", "bootc"}, func(b *osHost, _ site, d engine.Desired) {
		b.Write("pull-fails", "error: connection refused")
		out := b.stage(d)
		if out.Code == 0 || b.Exists("run/ostree/staged-deployment-locked") {
			b.T.Errorf("exit status %d, lock %v", out.Code, b.Exists("run/ostree/staged-deployment-locked"))
		}
	})
}
