package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"holdfast/engine"
)

// History is what the runs of a bastion tell the next one about a site.
type History struct {
	Failed   []string          // hosts that failed when they were last worked on, sorted
	Complete map[string]string // by pool: digest of the OS that it was last to run, if it has been seen complete with that, and no host has been seen since that differs

	spans map[string]completeSince
}

// completeSince is the newest runs in a row that have seen a pool complete, with one
// OS, or have seen it not complete.
type completeSince struct {
	complete bool
	os       string
	from     time.Time // end of the first of them
	broken   bool      // an older run has seen something else
	begun    bool      // an older run was to roll out another OS
	lost     bool      // a run has seen hosts that differ, so that nothing older tells what they run
}

// ReadHistory reads of each journal in dir who has run and how it ended, and
// nothing in between. Journals of runs that did not come to their end, and
// files that are no journals, tell nothing. A folder that does not exist has
// none.
func ReadHistory(dir, site string) (History, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return History{}, fmt.Errorf("read history: %w", err)
	}
	var runs []Run
	for _, e := range slices.Backward(newestJournals(entries)) { // by name, so the newest comes first
		if id := runID(e.Name()); id != "" && e.Type().IsRegular() {
			if run, ok := readEnd(dir, id); ok {
				runs = append(runs, run)
			}
		}
	}
	return foldRuns(runs, site, ""), nil
}

// foldRuns folds the runs of a site, given and taken the newest first. IDs order
// those of one second by chance; two runs of a site are never under way at once.
func foldRuns(runs []Run, site, self string) History {
	h := History{Complete: map[string]string{}, spans: map[string]completeSince{}}
	decided := map[string]bool{}
	over := false
	runs = slices.Clone(runs)
	slices.SortStableFunc(runs, func(a, b Run) int { return b.Started.Compare(a.Started) })
	for _, r := range runs {
		if r.ID == self || r.Site != site {
			continue
		}
		if !over {
			over = h.addFailures(r, decided)
		}
		if r.End != nil {
			for _, p := range r.End.Pools {
				h.addPool(p, r.Last)
			}
		}
	}
	slices.Sort(h.Failed)
	return h
}

// addFailures takes what became of the hosts of a run, unless a newer one has
// worked on them, too. It reports whether older runs do not matter any more:
// the run has worked on hosts and was not cut short.
func (h *History) addFailures(r Run, decided map[string]bool) bool {
	failed := r.Failed
	if r.End != nil {
		failed = r.End.Failed
	}
	for _, host := range failed {
		if !decided[host] {
			h.Failed = append(h.Failed, host)
		}
		decided[host] = true
	}
	for _, host := range r.Updated {
		decided[host] = true
	}
	return !r.wasCutShort() && len(failed)+len(r.Updated) > 0
}

// addPool takes what a run, older than those before, has seen of a pool at its
// end.
func (h *History) addPool(p engine.PoolStatus, at time.Time) {
	if !p.Since.IsZero() && p.Since.Before(at) {
		at = p.Since
	}
	s, seen := h.spans[p.Name]
	if !seen {
		s = completeSince{complete: p.Complete, os: p.OS, from: at}
	}
	s.begun = s.begun || p.OS != s.os
	s.broken = s.broken || !s.matchesStatus(p)
	if !s.broken && at.Before(s.from) {
		s.from = at
	}
	if s.lost = s.lost || hasDifferingHosts(p); p.Complete && !s.begun && !s.lost && p.OS != "" {
		h.Complete[p.Name] = p.OS
	}
	h.spans[p.Name] = s
}

// hasDifferingHosts reports whether hosts of a pool were there and did not match. Of those
// that could not be reached, or are held by a person, nothing new is known.
func hasDifferingHosts(p engine.PoolStatus) bool {
	for _, state := range []engine.HostState{engine.Pending, engine.Staged, engine.Updating, engine.Degraded, engine.PausedState} {
		if p.Counts[state] > 0 {
			return true
		}
	}
	return false
}

// matchesStatus reports whether a pool is as it was in the streak. One that is not
// complete stays that, whichever OS it is to run.
func (s completeSince) matchesStatus(p engine.PoolStatus) bool {
	return p.Complete == s.complete && (!p.Complete || p.OS == s.os)
}

// WithSince is a status that says of each pool since when it is complete, or not.
// Where the runs have last seen it otherwise nobody knows when that changed.
func (h History) WithSince(s engine.Status) engine.Status {
	s.Pools = slices.Clone(s.Pools)
	for i, p := range s.Pools {
		if streak, ok := h.spans[p.Name]; ok && streak.matchesStatus(p) {
			s.Pools[i].Since = streak.from
		}
	}
	return s
}
