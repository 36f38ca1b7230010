package journal

import (
	"slices"
	"time"

	"holdfast/engine"
)

// maxAhead is how far in the future a run may have begun. If it is more, the clock was wrong then, and was set back later.
const maxAhead = 24 * time.Hour

// markFutureRuns marks the runs that seem to have begun in the future, and that count as older than all others: otherwise they
// would stay the newest, and hide the results of later runs. A run that did not succeed is still the newest until another run
// has adopted its holds.
func markFutureRuns(runs []Run, now time.Time) {
	adopted := map[string]bool{}
	for _, r := range runs {
		for _, id := range r.adopting {
			adopted[id] = true
		}
	}
	for i, r := range runs {
		isOver := r.End != nil && r.End.Exit == engine.ExitOK || adopted[r.ID]
		runs[i].isFromFuture = isOver && r.Started.After(now.Add(maxAhead))
	}
}

// futureRank returns 1 for a run that counts as older than all others, else 0.
func (r Run) futureRank() int {
	if r.isFromFuture {
		return 1
	}
	return 0
}

// futureRuns returns the runs that seem to have begun in the future. Few do, so a run need not keep all that it adopted.
func futureRuns(ids []string) []string {
	latest := time.Now().Add(maxAhead)
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		began, ok := engine.ParseRunID(id)
		return !ok || !began.After(latest)
	})
}
