package maintenance

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/kubefacts"
	"holdfast/engine/standing"
	"holdfast/engine/textutil"
)

// Site has the inventory and the facts of all hosts. They are read before the hosts of the person are held.
type Site struct {
	Inventory engine.Inventory
	Facts     map[string]engine.Facts           // of each host that may be read, by name
	Clusters  map[string]etcdfacts.ClusterFacts // those of ClustersOf the hosts
	View      standing.View                     // of the bastion of the person
	Runs      []ActiveRun                       // runs of this bastion that are under way
	Rollout   *engine.Rollout                   // the newest roll-out that hosts know; nil: none
	Behind    []engine.UnfinishedHost           // hosts that Rollout has not reached

	Workloads map[string]kubefacts.Workload // pods of the nodes to drain, by Kubernetes cluster
}

// ActiveRun is a run that is under way.
type ActiveRun struct {
	ID     string
	Holder string   // user@bastion
	Hosts  []string // of its plan
}

func (s Site) factsOf(h engine.Host) engine.Facts {
	f, seen := s.Facts[h.Name]
	if !seen {
		f = engine.Facts{Host: h.Name, Unreachable: "not gathered"}
	}
	return f
}

// findNotices returns everything that a person should know before the hosts are held: the runs that are under way on any bastion,
// an unfinished roll-out, and clusters without a voter to spare.
func (s Site) findNotices(hosts []string, force bool) (notices []engine.MaintenanceNotice) {
	known := map[string]bool{}
	for _, r := range s.Runs {
		known[r.ID] = true
		notices = append(notices, r.describe(hosts))
	}
	notices = append(notices, s.findHolders(known)...)
	notices = append(notices, s.findStagings()...)
	if n := s.findUnfinished(); n != nil {
		notices = append(notices, *n)
	}
	return append(notices, s.findTightClusters(hosts, force)...)
}

func (r ActiveRun) describe(hosts []string) engine.MaintenanceNotice {
	n := engine.MaintenanceNotice{Kind: engine.RunUnderWay, Run: r.ID, Text: fmt.Sprintf("run %s of %s is under way", r.ID, r.Holder)}
	for _, h := range r.Hosts {
		if slices.Contains(hosts, h) {
			n.Hosts = append(n.Hosts, h)
		}
	}
	if len(n.Hosts) > 0 {
		n.Text += " and has " + foldNames(n.Hosts) + " in its plan; it excludes hosts that are held before it begins to work on them"
	}
	return n
}

// findHolders finds runs by their holds, which may be of any bastion.
func (s Site) findHolders(known map[string]bool) (notices []engine.MaintenanceNotice) {
	type key struct {
		kind engine.NoticeKind
		run  string
	}
	var groups textutil.Groups[key, standing.Standing]
	for _, h := range s.Inventory.Hosts {
		st := s.View.Judge(h, engine.Pool{}, s.factsOf(h))
		switch {
		case st.Hold == nil || known[st.Hold.Run]:
		case st.Kind == standing.HeldByRun && !st.HasFailed():
			groups.Add(key{engine.RunUnderWay, st.Hold.Run}, st)
		case st.Kind == standing.HeldByRun, st.Kind == standing.HeldByDeadRun, st.Kind == standing.HeldByExpiredRun:
			groups.Add(key{engine.RunUnfinished, st.Hold.Run}, st)
		default: // no run holds it
		}
	}
	for k, list := range groups.All() {
		n := engine.MaintenanceNotice{Kind: k.kind, Run: k.run}
		for _, st := range list {
			n.Hosts = append(n.Hosts, st.Host)
		}
		state := "is under way"
		if k.kind == engine.RunUnfinished {
			state = "has not finished its work"
		}
		n.Text = fmt.Sprintf("run %s of %s %s, and holds %s", k.run, list[0].Hold.Holder, state, foldNames(n.Hosts))
		notices = append(notices, n)
	}
	return notices
}

// findStagings finds runs of any bastion that hold no host yet.
func (s Site) findStagings() []engine.MaintenanceNotice {
	n := engine.MaintenanceNotice{Kind: engine.StagingUnderWay}
	for _, h := range s.Inventory.Hosts {
		if s.Facts[h.Name].IsStaging() {
			n.Hosts = append(n.Hosts, h.Name)
		}
	}
	if len(n.Hosts) == 0 {
		return nil
	}
	n.Text = "an OS is being staged on " + foldNames(n.Hosts)
	return []engine.MaintenanceNotice{n}
}

func (s Site) findUnfinished() *engine.MaintenanceNotice {
	if s.Rollout == nil || len(s.Behind) == 0 {
		return nil
	}
	n := engine.MaintenanceNotice{Kind: engine.UnfinishedRollout, Run: s.Rollout.Run}
	for _, u := range s.Behind {
		n.Hosts = append(n.Hosts, u.Host)
	}
	n.Text = fmt.Sprintf("the roll-out of run %s is unfinished, and has not reached %s", s.Rollout.Run, foldNames(n.Hosts))
	return &n
}

func (s Site) findTightClusters(hosts []string, force bool) (notices []engine.MaintenanceNotice) {
	for _, c := range ClustersOf(s.Inventory, hosts) {
		forecast, refused := s.judgeQuorum(c, hosts)
		if refused && !force { // the refusal has the same text
			continue
		}
		if forecast.LosesQuorum() || forecast.HasNoMargin() {
			notices = append(notices, engine.MaintenanceNotice{Kind: engine.QuorumAtRisk, Hosts: forecast.Disrupted, Text: forecast.String()})
		}
	}
	return notices
}

// findRefusal returns why none of the hosts must be held, or "". Budgets limit only holds of hosts that are drained or switched off: a host
// that is only held keeps its work.
func (s Site) findRefusal(hosts []string, stopsWork bool) string {
	var lost []string
	for _, c := range ClustersOf(s.Inventory, hosts) {
		if forecast, refused := s.judgeQuorum(c, hosts); refused {
			lost = append(lost, forecast.String())
		}
	}
	if stopsWork {
		lost = append(lost, s.findFullBudgets(hosts)...)
	}
	return strings.Join(lost, "; ")
}

// maxNamed is the number of names, after folding, that a notice names.
const maxNamed = 8

func foldNames(hosts []string) string {
	names := textutil.FoldNames(hosts)
	return strings.Join(textutil.AndMore(names[:min(maxNamed, len(names))], len(names)), ", ")
}
