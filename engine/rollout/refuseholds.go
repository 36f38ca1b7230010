package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/planner"
	"holdfast/engine/standing"
	"holdfast/engine/textutil"
)

// refuseHolds returns a failure if --on-held is refuse and the first plan of a play leaves out hosts that somebody else holds. Before
// the first play, it looks at the hosts of all plays, so that such a hold refuses the run before anything is touched.
func (l *playLoop) refuseHolds(ctx context.Context, plan engine.Plan) *engine.Failure {
	if !l.RefuseHeld {
		return nil
	}
	end := "nothing was touched"
	if l.state.hasBegun() {
		end = "this play does not begin"
	}
	if findHold(plan) != nil {
		return heldFailure("hosts are held by somebody else or in maintenance, and --on-held is refuse; " + end + ": wait for them, or use --on-held skip")
	}
	if len(l.Plays) == 0 || l.state.play != &l.Plays[0] {
		return nil
	}
	for _, play := range l.Plays[1:] {
		in := l.planInput(l.state.gathered)
		in.Play, in.Modules, in.Selected = &play.Play, play.Modules, play.Selected
		in.Clusters = l.gatherMissingClusters(ctx, in)
		if x := findHold(planner.NewPlan(in)); x != nil {
			return heldFailure(fmt.Sprintf("play %s would leave out %s (%s), and --on-held is refuse; %s: wait for the host, or use --on-held skip", play.Name, x.Host, x.Reason, end))
		}
	}
	return nil
}

// findHold returns a host that the plan leaves out because somebody holds it or works on it, or nil.
func findHold(plan engine.Plan) *engine.Exclusion {
	for _, x := range plan.Excluded {
		if x.Kind == engine.Held || x.Kind == engine.InMaintenance {
			return &x
		}
	}
	return nil
}

func heldFailure(cause string) *engine.Failure {
	return &engine.Failure{Step: "plan", Cause: cause, Kind: engine.HeldFailure}
}

// nameLeftHosts adds a hint to the failure that ended the run before some plays: hosts of these plays that dead runs hold stay
// as they are, because a run takes such a host up in its play. It needs facts from after the last batch, which may have
// adopted hosts.
func (l *playLoop) nameLeftHosts(err error, plays []Play) error {
	var left []string
	for _, h := range l.Inventory.Hosts {
		pool, _ := l.Inventory.Pool(h.Pool)
		st := standing.View{Run: l.holdOwner(), Dead: l.Dead}.Judge(h, pool, l.state.gathered.Facts[h.Name])
		isLeft := st.Flag == standing.NoFlag && (st.Kind == standing.HeldByDeadRun || st.Kind == standing.HeldByExpiredRun)
		if isLeft && slices.ContainsFunc(plays, func(p Play) bool { return p.Selected == nil || p.Selected(h) }) {
			left = append(left, h.Name)
		}
	}
	var f *engine.Failure
	if len(left) == 0 || !errors.As(err, &f) || f.Kind == engine.StoppedFailure {
		return err
	}
	told, hosts := *f, strings.Join(textutil.FoldNames(left), ",")
	if told.Hint != "" {
		told.Hint += "; "
	}
	told.Hint += "earlier runs still hold " + hosts + ", whose play did not begin: to recover them, run the playbook with --limit " + hosts
	return &told
}
