package tasks

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/planner"
	"holdfast/modules/moduletest"
)

// playSequence returns the names of the steps of a play on a host in a pool that
// drains. The host is a member of an etcd cluster of three, or a worker.
func playSequence(play engine.Play, member bool) string {
	pool := engine.Pool{Name: "p", Drain: &engine.Drain{Command: "drain", Undo: "undrain"}}
	in := planner.Input{
		Request: planner.Request{Inventory: engine.Inventory{Pools: []engine.Pool{pool}}, Desired: map[string]engine.Desired{}, Modules: ForPlay(play)}, Facts: map[string]engine.Facts{},
		Clusters: map[string]etcdfacts.ClusterFacts{}, Play: &play, Run: "r1", Now: time.Unix(1e9, 0),
	}
	cluster := etcdfacts.ClusterFacts{Name: "main"}
	for i, name := range []string{"a", "b", "c"} {
		h := engine.Host{Name: name, Pool: "p"}
		if member {
			h.Cluster = "main"
			cluster.Members = append(cluster.Members, etcdfacts.Member{Name: name, Host: name, Healthy: true, Leader: i == 0})
		}
		in.Inventory.Hosts = append(in.Inventory.Hosts, h)
		in.Facts[name] = engine.Facts{Host: name, BootID: moduletest.Boot, Clock: in.Now}
	}
	if member {
		in.Inventory.Clusters = []engine.Cluster{{Name: "main"}}
		in.Clusters["main"] = cluster
	}
	var names []string
	for _, s := range planner.NewPlan(in).Host("a").Sequence {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

func stepNames(name string, t engine.Task) engine.Task {
	t.Name = name
	return t
}

func pauseTask() engine.Task {
	return engine.Task{Name: "pause", Module: engine.PauseTask, Pause: &engine.Pause{For: engine.Duration(time.Hour)}}
}

// The quorum of the cluster is checked before each disruption of a member, not
// only before the first one.
func TestQuorumIsAskedBeforeEveryDisruption(t *testing.T) {
	const (
		ask   = "move etcd leader, check quorum, "
		begin = "hold, check quorum, "
		drain = begin + "drain, "
		back  = "wait for units, wait for etcd, "
		end   = back + "undrain, release"
	)
	restart, again := stepNames("restart", serviceTask("etcd.service", false)), stepNames("again", serviceTask("etcd.service", false))
	stop, start := stepNames("stop", disruptiveTask("stop")), stepNames("start", disruptiveTask("start"))
	defrag := engine.Task{Name: "defrag", Module: engine.EtcdDefragTask}
	reboot := engine.Task{Name: "reboot", Module: engine.RebootTask}
	for name, c := range map[string]struct {
		tasks []engine.Task
		want  string
	}{
		"before a reboot":     {[]engine.Task{restart, reboot}, drain + ask + "restart, wait for etcd, " + "sync disks, " + ask + "reboot, wait for boot, " + end},
		"after a reboot":      {[]engine.Task{reboot, pauseTask(), restart}, drain + "sync disks, " + ask + "reboot, wait for boot, " + back + "pause, " + ask + "restart, " + end},
		"twice after one":     {[]engine.Task{reboot, defrag, restart}, drain + "sync disks, " + ask + "reboot, wait for boot, " + back + ask + "defrag, wait for etcd, " + ask + "restart, " + end},
		"without a reboot":    {[]engine.Task{restart, pauseTask(), again}, begin + ask + "restart, wait for etcd, pause, " + ask + "again, " + back + "release"},
		"one after the other": {[]engine.Task{stop, start}, begin + ask + "stop, " + ask + "start, " + back + "release"},
		"once":                {[]engine.Task{defrag}, begin + ask + "defrag, " + back + "release"},
	} {
		if got := playSequence(engine.Play{Name: "p", Hosts: "all", Tasks: c.tasks}, true); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// Work returns to a host before the tasks after its return, unless these tasks
// disrupt the host again.
func TestWorkReturnsBeforeWhatDisruptsNothing(t *testing.T) {
	begin := "hold, check budget, drain, sync disks, reboot, wait for boot, wait for units, "
	look, flash := stepNames("look", commandTask("true")), stepNames("flash", disruptiveTask("flash"))
	reboot := engine.Task{Name: "reboot", Module: engine.RebootTask}
	for _, c := range []struct {
		play engine.Play
		want string
	}{
		{engine.Play{Tasks: []engine.Task{reboot}, PostTasks: []engine.Task{look}}, begin + "undrain, look, release"},
		{engine.Play{Tasks: []engine.Task{reboot, look}}, begin + "undrain, look, release"},
		{engine.Play{Tasks: []engine.Task{reboot, look, flash}}, begin + "look, flash, wait for units, undrain, release"},
	} {
		if got := playSequence(c.play, false); got != c.want {
			t.Errorf("got %s\nwant %s", got, c.want)
		}
	}
}
