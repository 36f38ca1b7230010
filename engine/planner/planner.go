package planner

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/kubefacts"
	"holdfast/engine/planner/approval"
	"holdfast/engine/planner/rebootkind"
	"holdfast/engine/standing"
)

// Input has everything on which a plan depends.
type Input struct {
	Request
	leaving []engine.Host // hosts of the inventory that leave the site; Inventory does not have them any more

	Facts    map[string]engine.Facts
	Clusters map[string]etcdfacts.ClusterFacts

	Kubernetes map[string]kubefacts.ClusterFacts // whose nodes AddNodes has added to Facts
	Workloads  map[string]kubefacts.Workload     // pods of the nodes to drain; nil: nobody asked
	OnlyRoom   bool                              // Workloads decide only which hosts share a batch, and forecast nothing

	Run      string              // ID of the run that plans
	Bastion  string              // identity of its bastion; "": the bastion could keep no identity, and no hold counts as taken by this bastion
	Saved    map[string]struct{} // clusters of which this run has taken a snapshot
	Approved *engine.Plan        // the approved plan, whose excluded hosts stay excluded; nil before the approval
	Ran      map[string][]string // services that ran on a host before an action failed there in this run

	Now            time.Time                  // time of the plan, by the bastion's clock
	Began          time.Time                  // start of the run, by the bastion's clock
	Batches        int                        // number of batches that this run has begun
	Done           map[string]time.Time       // hosts that this run has brought to their desired state, and when
	Failed         map[string]string          // hosts that failed in this run, and how; the run does not try them again
	LoginFailed    map[string]bool            // hosts whose new login failed in this run, after a change that touches logins
	LoginProved    map[string][]engine.Change // by pool: changes of this run that touch logins, and after which a new login has worked
	ActionFailed   map[string]bool            // hosts on which an action failed in this play, and that a reboot may recover
	AdoptedEarlier map[string]bool            // hosts that an earlier play of this run has adopted
	Play           *engine.Play               // play of a playbook; nil: every host is made to match
}

// Request is the work that a run was asked for. Each play of a playbook has its own modules and hosts; all else stays
// the same during the run.
type Request struct {
	Inventory   engine.Inventory
	Desired     map[string]engine.Desired
	Modules     []engine.Module
	Selected    func(engine.Host) bool     // --limit; nil selects every host
	Dead        []string                   // runs of this bastion that ended without releasing their holds
	Retry       []string                   // hosts that failed in the previous run; they go before others
	Lost        map[string]engine.LostHost // hosts that an earlier run of this bastion changed, and that no run has seen updated or matching since
	CompletedOS map[string]string          // OS with which a run of this bastion last saw all hosts of a pool, by pool

	BestEffort     bool     // failed hosts do not stop the other hosts of their pool
	OverIncomplete bool     // an OS may be rolled out although the previous roll-out has not reached every host
	AnyEtcdVersion bool     // an OS may be booted whose etcd is older than the cluster, or skips a minor version
	RetryRejected  bool     // an OS is tried again on a host that was rolled back from it
	FullReboot     bool     // each reboot is a full one
	Repair         []string // hosts that may be disrupted although their own etcd member is not healthy, because the work repairs it

	SavedWork []engine.HostPlan // work of a saved plan that the run is to carry out; the plan has the settings of these hosts, too
}

// Survey is the comparison of all hosts with their desired states. It has no
// facts of clusters, because it decides which of these facts a plan needs.
type Survey struct {
	in     Input
	index  index
	result surveyResult
}

// NewSurvey compares every host with its desired state, once.
func NewSurvey(in Input) Survey {
	in = in.withSelection()
	x := newIndex(in)
	return Survey{in: in, index: x, result: surveyHosts(in, x)}
}

// ClustersAtWork names the etcd clusters whose facts a plan needs: the clusters
// with a member to disrupt.
func (s Survey) ClustersAtWork() []string {
	var names []string
	for _, hp := range s.result.work {
		if hp.Cluster != "" && !hp.NonDisruptive() && !slices.Contains(names, hp.Cluster) {
			names = append(names, hp.Cluster)
		}
	}
	return names
}

// NewPlan compares every host with its desired state and puts the work into
// lanes and batches. Its time grows linearly with the number of hosts.
func NewPlan(in Input) engine.Plan { return NewSurvey(in).Plan(in.Now, in.Clusters) }

// Plan puts the work into lanes and batches that start at the time now.
func (s Survey) Plan(now time.Time, clusters map[string]etcdfacts.ClusterFacts) engine.Plan {
	in, x, survey := s.in, s.index, s.excludeBlockedDrains()
	in.Now, in.Clusters = now, clusters
	etcdUpdates := in.etcdUpdates(x, survey.work)
	schedule := newScheduler(in, x, survey, etcdUpdates)
	schedule.room = s.newDrainRoom()
	warnings := schedule.skew.listWarnings()
	p := engine.Plan{
		Schema: engine.PlanSchema, Site: in.Inventory.Site, Total: len(in.Inventory.Hosts),
		Matching: survey.matching, Warnings: slices.Clip(survey.warnings), Drift: survey.drift,
		Batches: schedule.planBatches(), Refusals: slices.Concat(survey.refusals, schedule.refusals),
		Excluded: append(slices.Clip(survey.excluded), schedule.blocked...), Reserved: slices.Concat(survey.reserved, in.leavingHosts()),
		Unfinished: findUnfinishedHosts(in, x, survey), LastRollout: x.last, Rollout: x.rollout, UnhealthyClusters: in.unhealthyClusters(), CertificateProblems: in.certificateProblems(), Repair: in.Repair,
	}
	p.RetryRolledBack = in.RetryRejected
	addOverriddenRollouts(&p, in, x)
	if len(p.Unfinished) > 0 && x.last != nil {
		p.RecordedOn = recordingHosts(in, *x.last)
	}
	if in.Play != nil {
		p.Play = in.Play.Name
	}
	p.Warnings = slices.Concat(changeWarnings(survey.work), p.Warnings, warnings, in.warnOfRepairs(survey.work), in.warnOfNodes(survey), survivorPlanner{in}.warnOfProblems(), in.warnOfLeavingVoters(), in.describeEndedRollouts(x))
	sort.SliceStable(p.Excluded, func(i, j int) bool { return p.Excluded[i].Host < p.Excluded[j].Host })
	p.Hosts = notBlocked(survey.work, schedule.blocked)
	p.Drains = s.forecastDrains(p.Hosts)
	p.Warnings = slices.Concat(p.Warnings, WarnOfDrains(p.Drains), schedule.room.listWarnings())
	p.FullReboot, p.ExceededBudget = in.FullReboot, schedule.findExceededBudget(in)
	p.Selected, p.Settings = namesOfSelected(in), approval.Settings(in.Inventory, in.Play, in.Repair, slices.Concat(p.Hosts, in.SavedWork))
	in.addEtcdUpdates(&p, etcdUpdates)
	if len(p.Refusals) > 0 || len(p.Unfinished) > 0 {
		p.Batches = nil
		return p
	}
	work := p.ByHost()
	p.Lanes = planLanes(in, x, p, work)
	p.Start = startGates(x, p.Hosts)
	p.Before = snapshotSteps(in, p.Batches, work)
	return p
}

func (in Input) planningRun() engine.HoldOwner {
	return engine.HoldOwner{Run: in.Run, Bastion: in.Bastion}
}

// withSelection also leaves out the hosts that leave the site.
func (in Input) withSelection() Input {
	rest, leaving := standing.WithoutLeaving(in.Inventory)
	in.Inventory, in.leaving = rest, append(in.leaving, leaving...)
	if in.Selected == nil {
		in.Selected = func(engine.Host) bool { return true }
	}
	return in
}

// notBlocked treats a host that waits for its window as not blocked.
func notBlocked(work []engine.HostPlan, blocked []engine.Exclusion) []engine.HostPlan {
	if len(blocked) == 0 {
		return slices.Clone(work)
	}
	out := map[string]bool{}
	for _, x := range blocked {
		out[x.Host] = x.Kind != engine.Closed
	}
	var kept []engine.HostPlan
	for _, hp := range work {
		if !out[hp.Host] {
			kept = append(kept, hp)
		}
	}
	return kept
}

func (in Input) newTarget(x index, h engine.Host, f engine.Facts) engine.Target {
	f = f.WithRunning(in.Ran[h.Name])
	_, f.Finished = in.Done[h.Name]
	f.ActionFailed = in.ActionFailed[h.Name]
	return engine.Target{Host: h, Pool: x.pools[h.Pool], Cluster: x.clusters[h.Cluster], Governed: isGoverned(x.clusters[h.EtcdNearby()]), Desired: in.Desired[h.Name], Facts: f, Run: in.Run, Bastion: in.Bastion, Rollout: x.rollout, Contested: in.hasContestedBudget(x, h), Repair: slices.Contains(in.Repair, h.Name)}
}

// compareHost finds the changes of all modules first, because all of them decide about
// the kind of the reboot, which the steps of each module depend on.
func (in Input) compareHost(t engine.Target) (d difference, err error) {
	var plans []func(engine.Target) engine.Steps
	for _, m := range in.Modules {
		if m.Changes == nil {
			continue
		}
		x, err := m.Changes.Diff(t.Desired, t.Facts)
		if err != nil {
			return difference{}, fmt.Errorf("%s: %w", m.Name, err)
		}
		found := x.Changes
		if t.Desired.ReportDrift {
			d.drift = append(d.drift, filterDrift(found, true)...)
			found = filterDrift(found, false)
		}
		if len(found) > 0 {
			d.changes = append(d.changes, found...)
			plans = append(plans, func(t engine.Target) engine.Steps { return x.Steps(t, found) })
		}
	}
	d.changes = append(d.changes, survivorPlanner{in}.restartChanges(t.Host, t.Facts)...)
	d.reboot = rebootkind.Decide(rebootkind.Input{Allowed: t.Pool.Reboot, ForceFull: in.FullReboot, OS: t.Desired.OS, Facts: t.Facts, Changes: d.changes})
	rebooting := t
	if d.reboot.Reboot != nil {
		rebooting = survivorPlanner{in}.decideSurvival(t, &d)
	}
	for _, plan := range plans {
		d.addSteps(plan(rebooting))
	}
	survivorPlanner{in}.addRestarts(t, &d)
	if in.mayAdopt(t) {
		d.steps.Rollback = in.rollbackPlan(t, d.steps.Rollback)
	}
	in.addSurroundingTasks(t, &d)
	return d, nil
}

func (d *difference) addSteps(steps engine.Steps) {
	all := &d.steps
	all.Stage = append(all.Stage, steps.Stage...)
	all.Write = append(all.Write, steps.Write...)
	if len(all.Reboot) == 0 {
		all.Reboot = steps.Reboot
	}
	all.Act = append(all.Act, steps.Act...)
	all.Record = append(all.Record, steps.Record...)
	all.NonDisruptive = append(all.NonDisruptive, steps.NonDisruptive...)
	all.Actions = append(all.Actions, steps.Actions...)
	all.StoppedServices = append(all.StoppedServices, steps.StoppedServices...)
	all.Before = append(all.Before, steps.Before...)
	all.After = append(all.After, steps.After...)
	all.Rollback = append(all.Rollback, steps.Rollback...)
}

// addSurroundingTasks adds the tasks before and after the work on a host. A
// matching host with the hold of a dead run may lack its last tasks. These
// tasks run with its recovery, or alone if an earlier play has recovered the
// host.
func (in Input) addSurroundingTasks(t engine.Target, d *difference) {
	left := in.mayAdopt(t)
	resumed := in.AdoptedEarlier[t.Host.Name] && !t.Facts.Finished
	if len(d.changes) == 0 && !left && !resumed {
		return
	}
	var before, after []engine.Step
	for _, m := range in.Modules {
		if m.Tasks != nil {
			b, a := m.Tasks.TasksAround(t)
			before, after = append(before, b...), append(after, a...)
		}
	}
	switch {
	case len(d.changes) > 0:
		d.steps.Before, d.steps.After = append(d.steps.Before, before...), append(d.steps.After, after...)
	case left:
		d.steps.After = after
	case len(after) > 0:
		d.steps.NonDisruptive = after
		d.changes = []engine.Change{{
			Module: "tasks", Resource: "the tasks that come last", After: "done",
			Rule: "playbook: the run that has updated it was cut short", Task: true, Actions: []engine.Action{{Type: engine.NoAction}},
		}}
	}
}

// rollbackPlan returns the given steps, or else those to the previous OS of a host with the hold of a dead run.
func (in Input) rollbackPlan(t engine.Target, steps []engine.Step) []engine.Step {
	for _, m := range in.Modules {
		if m.Rollback != nil && len(steps) == 0 {
			steps = m.Rollback.RollbackSteps(t)
		}
	}
	return steps
}

func filterDrift(changes []engine.Change, drift bool) []engine.Change {
	var list []engine.Change
	for _, c := range changes {
		if c.Drift == drift {
			list = append(list, c)
		}
	}
	return list
}

func namesOfSelected(in Input) []string {
	var names []string
	for _, h := range in.Inventory.Hosts {
		if in.Selected(h) {
			names = append(names, h.Name)
		}
	}
	if len(names) == len(in.Inventory.Hosts) {
		return nil
	}
	return names
}
