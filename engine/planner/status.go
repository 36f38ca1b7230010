package planner

import (
	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/standing"
)

// NewStatus returns the state of every host of the inventory, by its facts.
func NewStatus(in Input) engine.Status {
	in = in.withSelection()
	in.RetryRejected = false // a host stays rolled back until a retry succeeds
	s := engine.Status{Schema: engine.StatusSchema, Site: in.Inventory.Site}
	pools := map[string]*engine.PoolStatus{}
	for _, p := range in.Inventory.Pools {
		s.Pools = append(s.Pools, engine.PoolStatus{Name: p.Name, Counts: map[engine.HostState]int{}, OS: digestOf(p.OS)})
	}
	for i := range s.Pools {
		pools[s.Pools[i].Name] = &s.Pools[i]
	}
	var all []engine.HostStatus
	ofPool := map[string][]engine.HostStatus{}
	for _, h := range in.Inventory.Hosts {
		hs := in.hostStatus(h)
		if r := in.judgeHost(h, in.Facts[h.Name]).Reservation(); r != nil {
			s.Reserved = append(s.Reserved, *r)
		}
		pool := pools[h.Pool]
		if digest := digestOf(in.Desired[h.Name].OS); pool.Total == 0 {
			pool.OS = digest
		} else if digest != pool.OS {
			pool.OS = ""
		}
		pool.Total++
		pool.Counts[hs.State]++
		all, ofPool[h.Pool] = append(all, hs), append(ofPool[h.Pool], hs)
		if in.Selected(h) {
			s.Hosts = append(s.Hosts, hs)
		}
	}
	s.Reserved = append(s.Reserved, in.leavingHosts()...)
	for _, c := range in.Inventory.Clusters {
		if facts, ok := in.Clusters[c.Name]; ok {
			facts.Name = c.Name
			s.Clusters = append(s.Clusters, facts)
		}
	}
	s.UnhealthyClusters, s.Kubernetes = in.unhealthyClusters(), in.kubernetesStatus()
	in.Selected = nil
	s.Complete = judgeHosts(all, in.withSelection().unhealthyClusters()).Complete
	for i := range s.Pools {
		p := &s.Pools[i]
		p.Complete = judgeHosts(ofPool[p.Name], nil).Complete
	}
	return s
}

func digestOf(o *engine.OS) string {
	if o == nil {
		return ""
	}
	return o.Digest()
}

func (in Input) hostStatus(h engine.Host) engine.HostStatus {
	f := in.Facts[h.Name]
	hs := engine.HostStatus{Host: h.Name, Pool: h.Pool, Hold: f.Hold, Node: f.Node}
	if f.LastHold != nil {
		hs.Hold = &f.LastHold.Hold
	}
	if b := f.Booted(); b != nil {
		hs.Booted, hs.Version = b.Digest, b.Version
	}
	if st := f.Staged(); st != nil {
		hs.Staged = st.Digest
	}
	hs.Survivors = f.Survivors
	hs.State, hs.Reason = in.hostStateOf(h, f)
	return hs
}

// hostStateOf returns the state of a host and the reason. The hold comes first, then
// failures, then unfinished work. A pause matters only if there is work.
func (in Input) hostStateOf(h engine.Host, f engine.Facts) (state engine.HostState, note string) {
	st := in.judgeHost(h, f)
	if state := st.State(); state != "" {
		if state == engine.Degraded && st.HasFailed() {
			return state, "failed at " + st.Hold.Step + ": " + st.Hold.Reason
		}
		return state, st.Describe()
	}
	if in.isRejected(st) {
		return engine.Degraded, "rolled back from " + engine.ShortDigest(digestOf(in.Desired[h.Name].OS)) + "; give it another OS, or apply --retry-rolled-back"
	}
	changes, err := in.changesOf(h, f)
	switch {
	case err != nil:
		return engine.Degraded, err.Error()
	case len(changes) == 0 && len(f.OutdatedSurvivors()) > 0:
		return engine.Updated, describeOutdated(f.OutdatedSurvivors(), f) + "; " + survivorPlanner{in}.adviseRestart(h, f, f.OutdatedSurvivors())
	case len(changes) == 0:
		return engine.Updated, ""
	case in.Desired[h.Name].ReportDrift && len(filterDrift(changes, false)) == 0:
		return engine.Drifted, "drift, only reported: " + holdReason(changes)
	case st.Flag != standing.NoFlag:
		return engine.PausedState, st.DescribeFlag() + "; " + summarizeChanges(changes)
	case in.isStaged(h, f):
		return engine.Staged, summarizeChanges(changes)
	}
	return engine.Pending, summarizeChanges(changes)
}

func (in Input) changesOf(h engine.Host, f engine.Facts) ([]engine.Change, error) {
	if !f.Reached() {
		return nil, nil
	}
	var all []engine.Change
	for _, m := range in.Modules {
		if m.Changes == nil {
			continue
		}
		x, err := m.Changes.Diff(in.Desired[h.Name], f)
		if err != nil {
			return nil, err
		}
		all = append(all, x.Changes...)
	}
	return append(all, survivorPlanner{in}.restartChanges(h, f)...), nil
}

func (in Input) isStaged(h engine.Host, f engine.Facts) bool {
	st := f.Staged()
	if st == nil {
		return false
	}
	pool, _ := in.Inventory.Pool(h.Pool)
	d, err := in.compareHost(engine.Target{Host: h, Pool: pool, Desired: in.Desired[h.Name], Facts: f})
	if err != nil || len(d.steps.Stage) > 0 {
		return false
	}
	for _, s := range d.steps.Reboot {
		if s.Do.AwaitBoot != nil && s.Do.AwaitBoot.Digest == st.Digest {
			return true
		}
	}
	return false
}

func summarizeChanges(changes []engine.Change) string {
	drift := filterDrift(changes, true)
	switch len(drift) {
	case 0:
		return holdReason(changes)
	case len(changes):
		return "drift: " + holdReason(drift)
	}
	return "drift: " + holdReason(drift) + "; changes: " + holdReason(filterDrift(changes, false))
}

// StatusVerdict returns the verdict on the hosts and clusters of a status. It
// has no refusals: a host that is held, paused or degraded is work for
// somebody.
func StatusVerdict(s engine.Status) engine.Verdict {
	return judgeHosts(s.Hosts, s.UnhealthyClusters)
}

// judgeHosts returns the verdict that decides whether a host, a pool or a site
// is complete. Its exit code is the exit code of status.
func judgeHosts(hosts []engine.HostStatus, unhealthy []etcdfacts.UnhealthyCluster) engine.Verdict {
	f := engine.Findings{UnhealthyClusters: unhealthy}
	for _, h := range hosts {
		switch h.State {
		case engine.Updated:
		case engine.Unreached:
			f.Excluded = append(f.Excluded, engine.Exclusion{Host: h.Host, Kind: engine.Unreachable, Reason: h.Reason})
		case engine.Drifted:
			f.Drift = append(f.Drift, h.Host)
		default:
			f.Work = append(f.Work, h.Host)
		}
	}
	return engine.NewVerdict(f)
}
