package osimage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/modules/moduletest"
)

// memberStage returns the script of the stage step of a host with an etcd member.
func (b *osHost) memberStage(d engine.Desired) string {
	changes := []engine.Change{{Module: "os"}}
	tgt := moduletest.Target(d, b.gatherFacts(d))
	tgt.Host.NearCluster, tgt.Governed = "main", true
	return planSteps(tgt, changes).Stage[0].Do.Exec.Script.String()
}

// sendPace sends a pace to the host, and returns the levers that it reports.
func (b *osHost) sendPace(serial int64) []engine.Lever {
	b.T.Helper()
	out := b.Run(hostscript.PaceScript(serial, hostscript.Speed{}, hostscript.Speed{Pace: engine.FloorPace()}))
	b.Want(out, 0, "")
	return hostscript.ReadLevers(out.Stdout)
}

// TestMembersStageUnderTheGovernor checks that the unit stages in a cgroup that is frozen at the
// start and thawed at the end. If the host has no such cgroup, the unit stages all the same, and
// the host reports this.
func TestMembersStageUnderTheGovernor(t *testing.T) {
	const group = "sys/fs/cgroup/system.slice/holdfast-stage.service"
	for name, prepare := range map[string]func(*osHost){
		"no cgroup v2":            func(b *osHost) { b.Write("proc/self/cgroup", "1:name=systemd:/") },
		"no freezer":              func(b *osHost) { b.Write("proc/self/cgroup", "0::/system.slice/holdfast-stage.service") },
		"another unit's cgroup":   func(b *osHost) { b.Write("proc/self/cgroup", "0::/user.slice") },
		"cgroup cannot be frozen": func(b *osHost) { b.addGroup(group); b.Mkdir(group + "/work/cgroup.freeze") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newOSHost(t)
			prepare(b)
			d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: moduletest.V2}}
			b.Want(b.Run(b.memberStage(d)), 0, "staged and locked")
			if levers := b.sendPace(1); len(levers) != 2 || levers[0].InForce || levers[0].Reason == "" || levers[1].InForce {
				t.Errorf("levers: %+v", levers)
			}
		})
	}
	t.Run("frozen", func(t *testing.T) {
		t.Parallel()
		b := newOSHost(t)
		b.addGroup(group)
		b.Write(group+"/work/cgroup.events", "populated 1\nfrozen 1")
		d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: moduletest.V2}}
		b.Want(b.Run(b.memberStage(d)), 0, "staged and locked")
		if levers := b.sendPace(1); len(levers) != 2 || !levers[0].InForce || levers[1].InForce || !strings.HasPrefix(levers[1].Reason, "not needed") {
			t.Errorf("levers: %+v", levers)
		}
		state, _ := os.ReadFile(filepath.Join(b.Root, group, "work/cgroup.freeze"))
		if strings.TrimSpace(string(state)) != "0" || !strings.Contains(b.Log(), "--property=Delegate=yes") {
			t.Errorf("the freezer is %q after the staging; log:\n%s", state, b.Log())
		}
		if joined, _ := os.ReadFile(filepath.Join(b.Root, group, "work/cgroup.procs")); strings.TrimSpace(string(joined)) != "0" {
			t.Errorf("the staging has joined its cgroup with %q", joined)
		}
	})
}

// addGroup makes a cgroup with a freezer for the unit.
func (b *osHost) addGroup(group string) {
	b.Write("proc/self/cgroup", "0::/system.slice/holdfast-stage.service")
	b.Write(group+"/cgroup.freeze", "0")
	b.Mkdir(group + "/work")
}

// TestAStagingThatCannotJoinItsCgroup checks that a staging outside of its cgroup is not frozen, and
// that its reads and writes are limited instead.
func TestAStagingThatCannotJoinItsCgroup(t *testing.T) {
	const group = "sys/fs/cgroup/system.slice/holdfast-stage.service"
	b := newOSHost(t)
	b.addGroup(group)
	b.addIOController()
	b.Write(group+"/work/cgroup.events", "populated 0\nfrozen 1")
	b.Mkdir(group + "/work/cgroup.procs")
	d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: moduletest.V2}}
	script := strings.Replace(awaitLimits(b, b.memberStage(d), "\nstage_os() {\n"), "-lt 500", "-lt 5", 1)
	b.Want(b.Run(script), 0, "staged and locked")
	if levers := b.sendPace(1); len(levers) != 2 || levers[0].Reason != "the staging cannot join its cgroup" || !levers[1].InForce {
		t.Errorf("levers: %+v", levers)
	}
}

// TestGovernorDoesNotFreezeADaemon checks that nothing is frozen if a daemon does the work, and
// that the host reports this.
func TestGovernorDoesNotFreezeADaemon(t *testing.T) {
	s := sites()["rpm-ostree deploy"]
	b := newOSHost(t)
	if s.prep != nil {
		s.prep(b)
	}
	b.Want(b.Run(b.memberStage(engine.Desired{OS: &s.os})), 0, "staged and locked")
	if levers := b.sendPace(1); len(levers) != 2 || levers[0].InForce || !strings.Contains(levers[0].Reason, "daemon") || levers[1].InForce {
		t.Errorf("levers: %+v", levers)
	}
	if strings.Contains(b.Log(), "--property=Delegate=yes") {
		t.Error("the unit has a cgroup of its own for nothing")
	}
}
