package laws

import (
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
)

// world is a site of three members of one cluster and two workers, and a run that holds
// all of them.
type world struct {
	*Observer
	run  *Run
	said []string
}

func newWorld() *world {
	w := &world{}
	w.Observer = NewObserver(func(violation string) { w.said = append(w.said, violation) })
	w.Now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	w.Inventory.Pools = []engine.Pool{{Name: "etcd"}, {Name: "worker"}, {Name: "other"}}
	w.run = w.NewRun("run-1", func() bool { return true })
	c := &Cluster{Name: "main"}
	for _, x := range []struct{ name, pool, cluster string }{{"m-0", "etcd", "main"}, {"m-1", "etcd", "main"}, {"m-2", "etcd", "main"}, {"w-0", "worker", ""}, {"w-1", "worker", ""}, {"o-0", "other", ""}} {
		h := &Host{Host: engine.Host{Name: x.name, Pool: x.pool, Cluster: x.cluster}, LacksUnits: func() bool { return false }}
		h.State = State{Up: true, Healthy: true, Booted: "v1", Staged: "v2", Hold: &engine.Hold{Kind: engine.RunHold, Run: "run-1"}}
		w.Hosts, w.Inventory.Hosts = append(w.Hosts, h), append(w.Inventory.Hosts, h.Host)
		if x.cluster != "" {
			c.Members = append(c.Members, h)
		}
		w.run.took[h.Name], w.run.seen[h.Name] = w.Now.Add(-30*time.Second), w.Now.Add(-20*time.Second)
	}
	w.Clusters = []*Cluster{c}
	w.run.gathered["main"] = w.Now.Add(-20 * time.Second)
	w.addNodes()
	w.Inventory.Pools[0].Reboot.ResetAfter = engine.Duration(5 * time.Minute)
	for _, h := range w.Hosts {
		h.BMC = &engine.BMC{}
	}
	w.Hosts[0].reboot = orderedReboot{by: w.run, at: w.Now.Add(-10 * time.Minute), kind: engine.FullReboot}
	w.run.resetsTold["m-0"] = true
	return w
}

// addNodes makes the workers nodes. The first is drained through the API.
func (w *world) addNodes() {
	w.Inventory.Pools[1].Drain = &engine.Drain{Kubernetes: &engine.KubernetesDrain{}}
	w.Nodes = []*Node{
		{Cluster: "main", Name: "w-0", Host: w.Hosts[3], Ready: true, Cordoned: true, Pods: []Pod{{Name: "agent", Stays: true}, {Name: "web-1", UID: "u1", App: "web", Ready: true, Guarded: true, Needs: 1}}},
		{Cluster: "main", Name: "w-1", Host: w.Hosts[4], Ready: true, Pods: []Pod{{Name: "web-2", UID: "u2", App: "web", Ready: true, Guarded: true, Needs: 1}}},
	}
	w.run.begun["w-0"] = begunStep{name: "drain"}
	w.run.gathered["kubernetes main"], w.run.seen["pods of main w-0"] = w.Now.Add(-20*time.Second), w.Now.Add(-20*time.Second)
}

// disrupt lets the run of the world disrupt hosts.
func (w *world) disrupt(names ...string) {
	for _, name := range names {
		h := w.findHost(name)
		h.disruptedBy, h.disruptedAt, h.GoesDown = "run-1", w.Now.Add(-time.Minute), true
	}
}

// TestLaws breaks laws that no fault of a run breaks in the tests of a whole run. Without the
// fault, the same act breaks no such law.
func TestLaws(t *testing.T) {
	reboot := func(w *world) { w.run.CheckReboot(w.Hosts[0], RebootOrder{Digest: "v2", Kind: engine.FullReboot}) }
	release := func(w *world) { w.run.CheckRelease(w.Hosts[0]) }
	look := func(w *world) { w.run.Emit(event.Event{Type: event.Warned}) }
	bobs := func(w *world) {
		w.Hosts[0].Hold = &engine.Hold{Kind: engine.MaintenanceHold, Holder: "bob", Run: "bobs"}
	}
	evict := func(w *world) { w.run.CheckEviction(w.Nodes[0], "u1") }
	cordon := func(w *world) { w.run.CheckCordon(w.Nodes[0]) }
	options := func(w *world) *engine.KubernetesDrain { return w.Inventory.Pools[1].Drain.Kubernetes }
	leased := func(renewed, ends time.Duration) func(*world) {
		return func(w *world) {
			n := w.Nodes[0]
			n.LeaseHolder, n.LeaseRenewed, n.LeaseEnds = "nhc", w.Now.Add(renewed), w.Now.Add(ends)
		}
	}
	reset := func(w *world) { // the act of a run that has ordered a reboot of m-0 ten minutes ago, and has told about the reset
		w.Hosts[0].disruptedBy, w.Hosts[0].Up, w.Hosts[0].Healthy = "run-1", false, false
		w.run.seen["m-0"] = w.run.seen["m-0"].Add(-9 * time.Minute)
		w.run.CheckPower(w.Hosts[0], engine.PowerReset)
	}
	unplanned := func(w *world) {
		w.Nodes[0].Pods = w.Nodes[0].Pods[:1]
		w.run.CheckReboot(w.Hosts[3], RebootOrder{Digest: "v2", Kind: engine.FullReboot})
	}
	for name, c := range map[string]struct {
		fault  func(*world)
		act    func(*world)
		broken string
	}{
		"a budget falls below its minimum": {func(w *world) { w.Nodes[1].Pods[0].Ready = false }, evict, "the budget of web falls below its minimum of 1"},
		"eviction elsewhere":               {func(w *world) { w.Hosts[3].Hold = nil }, evict, "w-0 is drained without a hold of that run"},
		"eviction without a cordon":        {func(w *world) { w.Nodes[0].Cordoned = false }, evict, "from node w-0, which is not cordoned"},
		"a pod that stays":                 {func(w *world) { w.Nodes[0].Pods[1].Stays = true }, evict, "and stays on it in a drain"},
		"a pod that is not selected":       {func(w *world) { options(w).PodSelector = "app!=web" }, evict, "and stays on it in a drain"},
		"eviction without force":           {func(w *world) { w.Nodes[0].Pods[1].NoMaker = true }, evict, "is evicted without force"},
		"data of a pod":                    {func(w *world) { w.Nodes[0].Pods[1].EmptyDir = true }, evict, "is evicted, and loses its data"},
		"a drain that nobody began":        {func(w *world) { w.run.begun["w-0"] = begunStep{} }, evict, "drain of w-0 is not in the journal"},
		"cordon of another host":           {func(w *world) { w.Nodes[0].Host = nil }, cordon, "is cordoned, and is no host of the run"},
		"cordon without a hold":            {func(w *world) { w.Hosts[3].Hold = nil }, cordon, "w-0 is cordoned without a hold"},
		"cordon of a person":               {func(w *world) { w.Nodes[0].CordonedByPerson = true }, func(w *world) { w.run.CheckUncordon(w.Nodes[0]) }, "is uncordoned, and a person had cordoned it"},
		"lease of another tool":            {leased(-time.Minute, time.Minute), func(w *world) { w.run.CheckTakeLease(w.Nodes[0]) }, "the lease of node w-0 is taken from nhc"},
		"release of a foreign lease":       {leased(-time.Hour, -time.Minute), func(w *world) { w.run.CheckReleaseLease(w.Nodes[0]) }, "the lease of node w-0 is released, and nhc has it"},
		"begun under a lease":              {leased(-time.Minute, time.Minute), cordon, "w-0 is begun, and nhc has the lease of its node"},
		"begun in maintenance":             {func(w *world) { w.Nodes[0].Maintained = w.Now.Add(-time.Minute) }, cordon, "w-0 is begun, and a NodeMaintenance names its node"},
		"reboot with pods":                 {func(w *world) { w.Nodes[0].Pods[0].Stays = false }, unplanned, "w-0 is disrupted with pod agent on it"},
		"reboot without a look":            {func(w *world) { delete(w.run.seen, "pods of main w-0") }, unplanned, "w-0 is disrupted, and the run has not looked at its pods"},
		"released while cordoned":          {func(w *world) { w.Nodes[0].CordonedByRun = true }, func(w *world) { w.run.CheckRelease(w.Hosts[3]) }, "w-0 is released while its node is cordoned by a run"},
		"released while leased":            {func(w *world) { w.Nodes[0].LeaseHolder = "holdfast-b1-run-1" }, func(w *world) { w.run.CheckRelease(w.Hosts[3]) }, "w-0 is released while holdfast-b1-run-1 has the lease of its node"},
		"reboot into the running OS":       {func(w *world) { w.Hosts[0].Reboots, w.Hosts[0].Staged = 1, "v1" }, reboot, "is rebooted into the OS it runs"},
		"learner": {func(w *world) {
			w.Clusters[0].Learner, w.Clusters[0].Added = &Host{Host: engine.Host{Name: "m-3"}}, w.Now.Add(-time.Hour)
		}, reboot, "m-0 goes down while m-3 of cluster main is a learner"},
		"not looked at another member": {func(w *world) { w.run.seen["m-2"] = w.Now.Add(-time.Hour) }, reboot, "the run has not looked at m-2 since it took the hold"},
		"hold of another":              {bobs, func(w *world) { w.run.CheckOwn(w.Hosts[0], "drained") }, "m-0 is drained while it is held by bob"},
		"staging under a hold":         {bobs, func(w *world) { w.run.CheckStage(w.Hosts[0]) }, "m-0 is staged while it is held by bob"},
		"two stagings":                 {func(w *world) { w.Hosts[1].StagedBy = "run-1" }, func(w *world) { w.run.CheckStage(w.Hosts[0]) }, "m-0 and m-1 of cluster main are staged at once"},
		"staging under a survivor":     {func(w *world) { w.Hosts[0].MemberOS = "v0" }, func(w *world) { w.run.CheckStage(w.Hosts[0]) }, "m-0 is staged while its etcd member runs from v0"},
		"boot under a survivor":        {func(w *world) { w.Hosts[0].MemberOS = "v0" }, reboot, "to boot another OS while its etcd member runs from v0"},
		"record before a restart":      {func(w *world) { w.Hosts[0].Stale = true }, func(w *world) { w.run.CheckRecord(w.Hosts[0], w.Hosts[0].Setting.Effect) }, "its etcd member has not restarted since the soft reboot"},
		"released while drained":       {func(w *world) { w.Hosts[0].disruptedBy, w.Hosts[0].Drained = "run-1", true }, release, "m-0 is released while it is drained"},
		"released while not well": {func(w *world) {
			w.Hosts[0].disruptedBy, w.Hosts[0].Healthy, w.Hosts[0].Lost = "run-1", false, w.Now.Add(-time.Hour)
		}, release, "m-0 is released while it is not well"},
		"released without its units": {func(w *world) {
			w.Hosts[0].disruptedBy, w.Hosts[0].LacksUnits = "run-1", func() bool { return true }
		}, release, "m-0 is released, and of its units only"},
		"another rollback":          {func(w *world) { w.Hosts[0].rolledBack = []string{"v1"} }, func(w *world) { w.run.CheckRollback(w.Hosts[0], "v1") }, "m-0 is rolled back from v1 once more"},
		"rollback without a hold":   {func(w *world) { w.Hosts[0].Hold = nil }, func(w *world) { w.run.CheckRollback(w.Hosts[0], "v1") }, "m-0 is rolled back without a hold"},
		"rollback without a cordon": {func(w *world) { w.Nodes[0].Cordoned = false }, func(w *world) { w.run.CheckRollback(w.Hosts[3], "v1") }, "w-0 is rolled back, and its node is not cordoned"},
		"rollback with pods": {func(w *world) { w.Nodes[0].Pods[0].Stays = false }, func(w *world) {
			w.Nodes[0].Pods = w.Nodes[0].Pods[:1]
			w.run.CheckRollback(w.Hosts[3], "v1")
		}, "w-0 is disrupted with pod agent on it"},
		"accepts another OS": {func(w *world) { w.Hosts[0].Booted = "v0" }, func(w *world) { w.run.CheckAccepts(w.Hosts[0], "v1") }, "m-0 runs v0, and is released as well with v1"},
		"data of a member":   {func(w *world) { w.Hosts[0].Drained = true }, func(w *world) { w.run.CheckSetAside(w.Hosts[0], w.Hosts[0].Drained) }, "the data of the member of m-0 are set aside"},
		"voters without a majority": {func(w *world) {
			w.Hosts[0].Healthy, w.Hosts[1].Healthy = false, false
			w.Hosts[0].Lost, w.Hosts[1].Lost = w.Now.Add(-time.Hour), w.Now.Add(-time.Hour)
		}, func(w *world) { w.run.CheckPromote(w.Clusters[0], w.Hosts[3]) }, "only 2 of 4 voters of cluster main are healthy"},
		"nobody's":    {func(w *world) { w.disrupt("w-0"); w.Hosts[3].Hold = nil }, look, "w-0 is nobody's, and drained or going down"},
		"two members": {func(w *world) { w.disrupt("m-0", "m-1") }, look, "2 members of cluster main are disrupted"},
		"a cordoned host beside one that is gone": {
			func(w *world) { w.disrupt("w-1") }, func(w *world) { w.run.CheckDrain(w.Hosts[3]) }, "pool worker loses 2 hosts at once, its budget is 1",
		},
		"two hosts of a pool": {func(w *world) { w.disrupt("w-0", "w-1") }, look, "2 hosts of pool worker are disrupted"},
		"two hosts of the site": {func(w *world) {
			w.Inventory.MaxUnavailable = engine.CountOrPercent{Count: 1, Set: true}
			w.disrupt("w-0", "o-0")
		}, look, "2 hosts of the site are disrupted, its budget is 1"},
		"switched on under a hold":          {bobs, func(w *world) { w.run.CheckPower(w.Hosts[0], engine.PowerOn) }, "m-0 is switched to on while it is held by bob"},
		"reset in maintenance":              {func(w *world) { w.Inventory.Hosts[3].Maintenance = "fans" }, func(w *world) { w.run.CheckPower(w.Hosts[3], engine.PowerReset) }, "w-0 is switched to reset, and the inventory keeps runs off it"},
		"switched on while leaving":         {func(w *world) { w.Inventory.Hosts[3].Leaving = true }, func(w *world) { w.run.CheckPower(w.Hosts[3], engine.PowerOn) }, "w-0 is switched to on, and the inventory keeps runs off it"},
		"reset that no pool allows":         {func(w *world) { w.Inventory.Pools[0].Reboot.ResetAfter = 0 }, reset, "m-0 is reset, and its pool does not allow that"},
		"reset by another run":              {func(w *world) { w.Hosts[0].reboot.by = nil }, reset, "m-0 is reset, and that run has not ordered its last reboot"},
		"reset too early":                   {func(w *world) { w.Hosts[0].reboot.at = w.Now.Add(-time.Minute) }, reset, "m-0 is reset 1m0s after the order to reboot, and 5m0s are to pass"},
		"reset of a host that has answered": {func(w *world) { w.run.seen["m-0"] = w.Now.Add(6 * time.Minute) }, reset, "m-0 is reset 3m0s after its last answer, and 5m0s are to pass"},
		"reset of a host that is back": {func(w *world) {
			w.Hosts[0].reboot.got, w.Hosts[0].reboot.booted = engine.FullReboot, w.Now.Add(-9*time.Minute-40*time.Second)
		}, reset, "m-0 is reset, and has come back"},
		"reset without a word": {func(w *world) { w.run.resetsTold = nil }, reset, "m-0 is reset, and this is not in the journal"},
		"two resets":           {func(w *world) { w.run.resets["m-0"] = true }, reset, "m-0 is reset twice"},
		"reset without a hold": {func(w *world) { w.Hosts[0].Hold = nil }, reset, "m-0 is reset without a hold"},
		"reset beside a sick member": {func(w *world) {
			w.Hosts[1].Healthy, w.Hosts[1].Lost = false, w.Now.Add(-time.Hour)
		}, reset, "m-0 goes down while m-1 of cluster main is not healthy"},
		"reset without a look":  {func(w *world) { w.run.seen["m-2"] = w.Now.Add(-time.Hour) }, reset, "m-0 goes down, and the run has not looked at m-2"},
		"touched while leaving": {func(w *world) { w.Inventory.Hosts[3].Leaving = true }, func(w *world) { w.run.CheckPaused(w.Hosts[3]) }, "w-0 is paused, and is touched"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, faulty := range []bool{false, true} {
				w := newWorld()
				if faulty {
					c.fault(w)
				}
				c.act(w)
				if says := slices.ContainsFunc(w.said, func(v string) bool { return strings.Contains(v, c.broken) }); says != faulty {
					t.Errorf("with the fault %v, the laws say %q: %v; all of it: %q", faulty, c.broken, says, w.said)
				}
			}
		})
	}
}
