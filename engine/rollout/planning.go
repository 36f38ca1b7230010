package rollout

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/event"
	"holdfast/engine/kubefacts"
	"holdfast/engine/planner"
)

// Gathered has the facts of the site at one moment.
type Gathered struct {
	Facts    map[string]engine.Facts
	Clusters map[string]etcdfacts.ClusterFacts

	Kubernetes map[string]kubefacts.ClusterFacts // clusters whose nodes are hosts; Facts has these nodes

	survey planner.Survey
}

// planning gathers the facts of the site, and plans from them and the progress of the run.
type planning struct {
	*gatherer
	state *runState
}

func newPlanning(r *Run) *planning { return &planning{newGatherer(r), newRunState()} }

func (p *planning) makePlan(ctx context.Context) (engine.Plan, Gathered, error) {
	gathered, err := p.gatherSite(ctx)
	if err != nil {
		return engine.Plan{}, gathered, err
	}
	first := p.state.gathered.Facts == nil
	plan := gathered.survey.Plan(p.Clock.Now(), gathered.Clusters)
	if !first {
		gathered.survey, plan = p.planWithRoom(ctx, gathered, plan)
	}
	if !plan.HasWork() && p.addMissingClusters(ctx, gathered) { // without work, the plan is the final report, which names all clusters
		plan = gathered.survey.Plan(p.Clock.Now(), gathered.Clusters)
	}
	gathered.survey = planner.Survey{} // frees memory, which a large site needs
	p.state.gathered, p.state.facts = gathered, gathered.Facts
	return plan, gathered, ctx.Err()
}

// replanAndCheck returns the next plan. If the facts cannot be gathered, it returns the plan before, which still names the
// hosts with work.
func (p *planning) replanAndCheck(ctx context.Context, before engine.Plan) (engine.Plan, error) {
	plan, _, err := p.makePlan(ctx)
	if err != nil {
		return before, err
	}
	p.warnOfNewHolds(plan)
	return plan, p.state.checkPlan(plan)
}

func (p *planning) planInput(s Gathered) planner.Input {
	if p.state.began.IsZero() {
		p.state.began = p.Clock.Now()
	}
	in := planner.Input{
		Request: p.Request, Facts: s.Facts, Clusters: s.Clusters, Kubernetes: s.Kubernetes,
		Run: p.ID, Bastion: p.Start.Bastion, Saved: p.state.saved, Approved: p.state.approved, Ran: p.state.runningBefore(),
		Now: p.Clock.Now(), Began: p.state.began, Batches: p.state.batches - p.state.earlier, Done: p.state.doneSince(), Failed: p.state.failureByHost(),
		LoginFailed: p.state.hostsWithFailedLogin(), LoginProved: p.state.loginChangesThatWork(), ActionFailed: p.state.hostsWithFailedAction(), AdoptedEarlier: p.state.adoptedHosts(),
	}
	in.Lost = maps.Clone(p.Lost)
	p.state.removeFound(in.Lost)
	if p.state.play != nil {
		in.Play, in.Modules, in.Selected = &p.state.play.Play, p.state.play.Modules, p.state.play.Selected
	}
	return in
}

func (p *planning) gatherSite(ctx context.Context) (Gathered, error) {
	began := p.Clock.Now()
	s := Gathered{Facts: p.gatherHosts(ctx), Clusters: map[string]etcdfacts.ClusterFacts{}}
	if err := ctx.Err(); err != nil {
		return s, err
	}
	reached := 0
	for _, f := range s.Facts {
		if f.Reached() {
			reached++
		}
	}
	s.Kubernetes = p.gatherNodes(ctx, s.Facts)
	in := p.planInput(s)
	s.survey = planner.NewSurvey(in)
	names := s.survey.ClustersAtWork()
	if p.state.gathered.Facts == nil { // the first call gathers all facts
		names = planner.ClustersConcerned(in)
		s.survey = p.forecastDrains(ctx, s.survey)
	}
	s.Clusters = p.gatherClusters(ctx, names)
	p.noteEvent(event.Event{
		Type:    event.HostsGathered,
		Message: fmt.Sprintf("%d of %d hosts reached", reached, len(s.Facts)),
		Took:    engine.Duration(p.Clock.Now().Sub(began).Round(time.Millisecond)),
	})
	return s, ctx.Err()
}

func (p *planning) addMissingClusters(ctx context.Context, s Gathered) bool {
	before := len(s.Clusters)
	maps.Copy(s.Clusters, p.gatherMissingClusters(ctx, p.planInput(s)))
	return len(s.Clusters) > before
}

func (p *planning) gatherMissingClusters(ctx context.Context, in planner.Input) map[string]etcdfacts.ClusterFacts {
	missing := slices.DeleteFunc(planner.ClustersConcerned(in), func(name string) bool {
		_, seen := in.Clusters[name]
		return seen
	})
	seen := p.gatherClusters(ctx, missing)
	maps.Copy(seen, in.Clusters)
	return seen
}

// gatherAtEnd gathers facts once more if staging or a batch ended early, so
// that the end of the run reports the current state of the hosts.
func (p *planning) gatherAtEnd(ctx context.Context, err error) {
	if err == nil || !p.state.hasBegun() || ctx.Err() != nil || p.firstError() != nil {
		return
	}
	if gathered, err := p.gatherSite(ctx); err == nil {
		p.state.gathered = gathered
	}
}

// warnOfNewHolds tells about hosts that somebody has begun to hold since the plan was approved, once for each.
func (p *planning) warnOfNewHolds(plan engine.Plan) {
	if p.state.approved == nil {
		return
	}
	for _, x := range plan.Excluded {
		known := slices.ContainsFunc(p.state.approved.Excluded, func(old engine.Exclusion) bool {
			return old.Host == x.Host && old.Kind == engine.Held
		})
		if x.Kind == engine.Held && !known && !p.state.toldHeld[x.Host] {
			p.state.toldHeld[x.Host] = true
			p.emitWarning(x.Host + " is held since the plan was approved, and is left alone: " + x.Reason)
		}
	}
}
