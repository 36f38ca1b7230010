package planner

import (
	"fmt"
	"strings"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

func (w *poolState) exceedsFailureBudget() bool {
	return w.failureBudget >= 0 && len(w.failedHosts) > w.failureBudget
}

func (w *poolState) describeFailures() string {
	const most = 3
	who := textutil.FoldNames(w.failedHosts)
	if len(who) > most {
		who = append(who[:most:most], "…")
	}
	switch text := strings.Join(who, ", "); {
	case w.anyFatal:
		return fmt.Sprintf("play %s: failed or not understood: %s; any_errors_fatal allows none", w.play, text)
	case w.play != "":
		return fmt.Sprintf("play %s: failed or not understood: %s; %d of its hosts may (--best-effort goes on with the others)", w.play, text, w.failureBudget)
	default:
		return fmt.Sprintf("pool %s: failed or not understood: %s; its failure_budget is %d (--best-effort goes on with the others)", w.Name, text, w.failureBudget)
	}
}

func (in Input) playHasFailureBudget() bool {
	return in.Play != nil && (in.Play.AnyErrorsFatal || in.Play.MaxFailPercentage != nil)
}

func (s surveyResult) allDegraded(pools []engine.Pool) (all []string) {
	for _, p := range pools {
		all = append(all, s.failedHosts[p.Name]...)
	}
	return all
}

// failureBudgetOf returns how many hosts may fail before no other host is started; -1: any number.
func (in Input) failureBudgetOf(p engine.Pool, hosts int) int {
	switch play := in.Play; {
	case play != nil && play.AnyErrorsFatal:
		return 0
	case in.BestEffort:
		return -1
	case play != nil && play.MaxFailPercentage != nil:
		return play.MaxFailPercentage.Part(in.countSelected())
	}
	return p.FailureBudget.Part(hosts)
}

// countsFailure reports whether a failure of the host in this run counts in the failure budget of its pool or play. The budget of
// a pool is for all its hosts, also for those of earlier plays.
func countsFailure(in Input, h engine.Host) bool {
	_, failed := in.Failed[h.Name]
	return failed && (in.Selected(h) || !in.playHasFailureBudget())
}

// ExceededFailureBudgets returns the failure budgets, of pools with a selected host or of the play, that allow fewer hosts to fail
// than have failed in this run.
func (in Input) ExceededFailureBudgets() (list []engine.FailureBudget) {
	in = in.withSelection()
	x := newIndex(in)
	failed, concerned, all := map[string]int{}, map[string]bool{}, 0
	for _, h := range in.Inventory.Hosts {
		concerned[h.Pool] = concerned[h.Pool] || in.Selected(h)
		if countsFailure(in, h) {
			failed[h.Pool]++
			all++
		}
	}
	if in.playHasFailureBudget() {
		if most := in.failureBudgetOf(engine.Pool{}, 0); most >= 0 && all > most {
			list = append(list, engine.FailureBudget{Play: in.Play.Name})
		}
		return list
	}
	for _, p := range in.Inventory.Pools {
		if most := in.failureBudgetOf(p, x.sizes[p.Name]); concerned[p.Name] && most >= 0 && failed[p.Name] > most {
			list = append(list, engine.FailureBudget{Pool: p.Name})
		}
	}
	return list
}

// findExceededBudget returns a failure budget of the play, or of a pool with a host of the play, that is exceeded. Hosts that an
// earlier run rolled back, that are lost or that are not understood count, too. A play that only prepares the work of later plays
// exceeds no budget of a pool, because such a budget is about disruptions.
func (sc *scheduler) findExceededBudget(in Input) engine.FailureBudget {
	if in.Play == nil || in.Play.OnlyPrepares() && !in.playHasFailureBudget() {
		return engine.FailureBudget{}
	}
	for _, h := range in.Inventory.Hosts {
		switch w := sc.poolStates[h.Pool]; {
		case !in.Selected(h) || !w.exceedsFailureBudget():
		case w.play != "":
			return engine.FailureBudget{Play: w.play}
		default:
			return engine.FailureBudget{Pool: w.Name}
		}
	}
	return engine.FailureBudget{}
}
