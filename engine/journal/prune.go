package journal

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"holdfast/engine"
)

// Prune removes the journals of successful runs, and of work on holds, that began before a time. It keeps the newest of each
// site, the runs that the history needs, and the runs that alone prove that a lost host was seen again. Journals beyond the
// newest maxJournals are not in the history, so it needs none of them. Prune returns the IDs of the removed runs.
func Prune(dir string, keep int, before time.Time) (removed []string, err error) {
	all, err := listAllRuns(dir)
	if err != nil {
		return nil, err
	}
	runs := slices.DeleteFunc(slices.Clone(all), func(r Run) bool { return r.isPartial })
	type series struct {
		site   string
		people bool // work of people on holds, which must not push out roll-outs
	}
	newer := map[series]int{}
	for _, r := range all { // the newest first
		of := series{r.Site, r.Maintenance != ""}
		newer[of]++
		needed := !of.people && (r.wasCutShort() || r.End.Exit != engine.ExitOK)
		if newer[of] <= keep || !r.Started.Before(before) || needed || r.Problem != "" {
			continue
		}
		rest := runs
		if !r.isPartial {
			rest = slices.DeleteFunc(slices.Clone(runs), func(o Run) bool { return o.ID == r.ID })
			if r.isNeeded(runs, rest) {
				continue
			}
		}
		if err := os.Remove(journalPath(dir, r.ID)); err != nil {
			return removed, fmt.Errorf("prune runs: %w", err)
		}
		removed, runs = append(removed, r.ID), rest
	}
	return removed, nil
}

// isNeeded reports whether a run tells something about its site that the rest of the runs does not tell: about failed hosts,
// complete pools or lost hosts.
func (r Run) isNeeded(runs, rest []Run) bool {
	a, b, self := foldRuns(runs, r.Site, ""), foldRuns(rest, r.Site, ""), engine.HoldOwner{Bastion: r.Bastion}
	return !slices.Equal(a.Failed, b.Failed) || !maps.Equal(a.Complete, b.Complete) || !maps.Equal(findLostHosts(runs, r.Site, self), findLostHosts(rest, r.Site, self))
}
