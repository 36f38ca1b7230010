package engine

import (
	"fmt"
	"sort"
	"strings"
)

// Input is everything a plan depends on.
type Input struct {
	Inventory Inventory
	Desired   map[string]Desired
	Facts     map[string]Facts
	Clusters  map[string]ClusterFacts
	Modules   []Module
	Run       string              // ID of the run that plans
	Dead      []string            // runs of this bastion that ended without releasing their holds
	Selected  func(Host) bool     // --limit; nil selects every host
	Saved     map[string]struct{} // clusters that have been snapshotted in this run
}

// NewPlan compares every host with its desired state and puts the work into
// lanes and batches.
func NewPlan(in Input) Plan {
	if in.Selected == nil {
		in.Selected = func(Host) bool { return true }
	}
	p := Plan{Schema: PlanSchema, Site: in.Inventory.Site, Total: len(in.Inventory.Hosts)}
	survey := takeStock(in)
	p.Matching, p.Excluded, p.Warnings = survey.matching, survey.excluded, survey.warnings
	schedule := newScheduler(in, survey)
	p.Batches = schedule.run()
	p.Refusals = schedule.refusals
	p.Excluded = append(p.Excluded, schedule.blocked...)
	sort.SliceStable(p.Excluded, func(i, j int) bool { return p.Excluded[i].Host < p.Excluded[j].Host })
	if len(p.Refusals) > 0 {
		p.Batches = nil
	}
	scheduled := map[string]bool{}
	for _, b := range p.Batches {
		for _, h := range b.Hosts {
			scheduled[h] = true
		}
	}
	for _, hp := range survey.work {
		if scheduled[hp.Host] || len(p.Refusals) > 0 {
			p.Hosts = append(p.Hosts, hp)
		}
	}
	p.Lanes = lanes(in, p)
	p.Before = snapshots(in, p)
	return p
}

// stock is what was found out about the hosts, before any scheduling.
type stock struct {
	work     []HostPlan
	matching []string
	excluded []Exclusion
	warnings []string
	away     map[string]string // hosts that count as unavailable, and why
	held     map[string]bool   // those of them that somebody else holds
}

func takeStock(in Input) stock {
	s := stock{away: map[string]string{}, held: map[string]bool{}}
	outside := map[string]int{}
	for _, h := range in.Inventory.Hosts {
		f, ok := in.Facts[h.Name]
		if !ok {
			f.Unreachable = "not looked at"
		}
		if f.Hold != nil && f.Hold.Kind == MaintenanceHold && f.Hold.Expired(f.Clock) {
			s.warnings = append(s.warnings, fmt.Sprintf("%s: its maintenance hold has expired, and still stands: %s; holdfast release %s ends it", h.Name, f.Hold, h.Name))
		}
		if why, reason := s.absent(in, h, f); why != "" {
			if in.Selected(h) {
				s.excluded = append(s.excluded, Exclusion{h.Name, why, reason})
			} else if why != Unclear {
				s.warnings = append(s.warnings, fmt.Sprintf("%s is outside the limit and counts as unavailable: %s", h.Name, reason))
			}
			continue
		}
		s.compare(in, h, f, outside)
	}
	for _, p := range in.Inventory.Pools {
		if n := outside[p.Name]; n > 0 {
			s.warnings = append(s.warnings, fmt.Sprintf("pool %s: %d hosts outside the limit do not match either", p.Name, n))
		}
	}
	return s
}

// absent says why a host cannot be worked on, and notes it as away.
func (s *stock) absent(in Input, h Host, f Facts) (Why, string) {
	if !f.Reached() {
		s.away[h.Name] = "unreachable"
		return Unreachable, f.Unreachable
	}
	if f.Stance(in.Run, in.Dead) != ForeignHold {
		return "", ""
	}
	s.away[h.Name], s.held[h.Name] = "held", true
	if f.HoldProblem != "" {
		return Held, f.HoldProblem
	}
	if f.Hold.Kind == MaintenanceHold {
		return Held, f.Hold.String() + "; holdfast release " + h.Name + " ends it"
	}
	return Held, f.Hold.String()
}

// compare diffs one reached host and files it as matching, work or unclear.
func (s *stock) compare(in Input, h Host, f Facts, outside map[string]int) {
	target := in.target(h, f)
	changes, steps, err := in.diff(target)
	stance := f.Stance(in.Run, in.Dead)
	adopt := ""
	if stance == AdoptHold || stance == ExpiredHold {
		adopt = f.Hold.Run
	}
	switch {
	case err != nil && in.Selected(h):
		s.excluded = append(s.excluded, Exclusion{h.Name, Unclear, err.Error()})
	case err != nil:
	case len(changes) == 0 && adopt == "":
		if in.Selected(h) {
			s.matching = append(s.matching, h.Name)
		}
	case !in.Selected(h):
		outside[h.Pool]++
		if adopt != "" {
			s.away[h.Name] = "held"
		}
	default:
		if adopt != "" {
			s.warnings = append(s.warnings, adoption(h, f, stance))
		}
		s.work = append(s.work, hostPlan(target, changes, steps, adopt))
	}
}

func adoption(h Host, f Facts, stance HoldStance) string {
	if stance == ExpiredHold {
		return fmt.Sprintf("%s: the hold of run %s has expired and is taken over: %s", h.Name, f.Hold.Run, f.Hold)
	}
	return fmt.Sprintf("%s: run %s ended and left its hold; it is taken over: %s", h.Name, f.Hold.Run, f.Hold)
}

func (in Input) target(h Host, f Facts) Target {
	pool, _ := in.Inventory.Pool(h.Pool)
	t := Target{Host: h, Pool: pool, Desired: in.Desired[h.Name], Facts: f, Run: in.Run}
	if c, ok := in.Inventory.Cluster(h.Cluster); ok {
		t.Cluster = &c
	}
	return t
}

// diff asks every module, in order, for a host's changes and their steps.
func (in Input) diff(t Target) ([]Change, Steps, error) {
	var changes []Change
	var all Steps
	for _, m := range in.Modules {
		found, err := m.Diff(t.Desired, t.Facts)
		if err != nil {
			return nil, Steps{}, fmt.Errorf("%s: %w", m.Name(), err)
		}
		if len(found) == 0 {
			continue
		}
		steps := m.Steps(t, found)
		changes = append(changes, found...)
		all.Stage = append(all.Stage, steps.Stage...)
		all.Write = append(all.Write, steps.Write...)
		all.Reboot = append(all.Reboot, steps.Reboot...)
	}
	return changes, all, nil
}

// lanes orders the hosts that need staging: members of an etcd cluster one
// after the other and the leader last, every other host on its own.
func lanes(in Input, p Plan) []Lane {
	var out []Lane
	byCluster := map[string]int{}
	leaders := map[string]string{}
	for _, b := range p.Batches {
		for _, name := range b.Hosts {
			hp := p.Host(name)
			switch {
			case len(hp.Stage) == 0:
			case hp.Cluster == "":
				out = append(out, Lane{Hosts: []string{name}})
			case in.Clusters[hp.Cluster].Leader() == name:
				leaders[hp.Cluster] = name
			default:
				out = addMember(out, byCluster, hp.Cluster, name)
			}
		}
	}
	for _, c := range in.Inventory.Clusters {
		if name := leaders[c.Name]; name != "" {
			out = addMember(out, byCluster, c.Name, name)
		}
	}
	return out
}

func addMember(out []Lane, byCluster map[string]int, cluster, name string) []Lane {
	i, ok := byCluster[cluster]
	if !ok {
		byCluster[cluster] = len(out)
		return append(out, Lane{Cluster: cluster, Hosts: []string{name}})
	}
	out[i].Hosts = append(out[i].Hosts, name)
	return out
}

// snapshots gives the steps that save each etcd cluster the plan will disrupt.
func snapshots(in Input, p Plan) []Step {
	var steps []Step
	for _, c := range in.Inventory.Clusters {
		_, saved := in.Saved[c.Name]
		if saved || c.NoSnapshot {
			continue
		}
		for _, b := range p.Batches {
			if disruptsCluster(p, b, c.Name) {
				steps = append(steps, Step{Name: "snapshot etcd", On: c.Name, Do: Op{Snapshot: &Snapshot{Cluster: c.Name}}, Timeout: snapshotTimeout})
				break
			}
		}
	}
	return steps
}

func disruptsCluster(p Plan, b Batch, cluster string) bool {
	for _, name := range b.Hosts {
		if hp := p.Host(name); hp.Cluster == cluster && hp.Disruptive() {
			return true
		}
	}
	return false
}

// Disruptive reports whether the host is drained or rebooted.
func (hp HostPlan) Disruptive() bool {
	for _, a := range hp.Actions {
		if a.Type == DrainAction || a.Type == RebootAction {
			return true
		}
	}
	return false
}

// Check compares the plan with one the operator has approved: nothing may be
// done that is not in it. What is in it and done by now is fine.
func (p Plan) Check(approved Plan) error {
	var news []string
	for _, hp := range p.Hosts {
		was := approved.Host(hp.Host)
		for _, c := range hp.Changes {
			if was == nil || !was.has(c) {
				news = append(news, fmt.Sprintf("%s: %s %s → %s", hp.Host, c.Resource, c.Before, c.After))
			}
		}
	}
	if len(news) == 0 {
		return nil
	}
	return fmt.Errorf("the hosts have changed since the plan was approved; these changes are not in it:\n  %s\nplan again", strings.Join(news, "\n  "))
}

func (hp HostPlan) has(c Change) bool {
	for _, d := range hp.Changes {
		if d.same(c) {
			return true
		}
	}
	return false
}

// ClustersAtWork names the etcd clusters that a plan for this input has to
// know about: those with a member on which there is work.
func ClustersAtWork(in Input) []string {
	if in.Selected == nil {
		in.Selected = func(Host) bool { return true }
	}
	var names []string
	for _, hp := range takeStock(in).work {
		if hp.Cluster != "" && !contains(names, hp.Cluster) {
			names = append(names, hp.Cluster)
		}
	}
	return names
}
