package planner

import (
	"holdfast/engine"
	"holdfast/engine/standing"
)

func (in Input) view() standing.View {
	return standing.View{Run: in.planningRun(), Dead: in.Dead}
}

func (in Input) judgeHost(h engine.Host, f engine.Facts) standing.Standing {
	pool, _ := in.Inventory.Pool(h.Pool)
	return in.view().Judge(h, pool, f)
}

// mayAdopt reports whether this run continues on the host of a target in place of an earlier run.
func (in Input) mayAdopt(t engine.Target) bool { return in.view().JudgeFacts(t.Facts).MayAdopt() }
