package journal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
)

// History has the facts that earlier runs of a bastion have recorded about a
// site.
type History struct {
	Failed   []string          // hosts whose last work failed, sorted
	Complete map[string]string // OS of each pool that was complete with this OS, by digest, if no host has differed since

	Times engine.EarlierTimes // how long earlier runs took

	spans        map[string]completeSince
	mayHaveNewOS map[string]bool // pools in which a newer run without an end may have begun another OS; "": all pools
}

// completeSince is the newest series of runs that agree about one pool:
// complete with one OS, or not complete.
type completeSince struct {
	complete bool
	os       string
	from     time.Time // end of the oldest run of the series
	broken   bool      // an older run has reported another status
	begun    bool      // an older run rolled out another OS
	differed bool      // a run has reported hosts that differ, so that older runs do not count
}

// ReadHistory reads the first and the last event of each journal in dir. It skips unfinished journals and
// other files. A folder that does not exist has no history.
func ReadHistory(dir, site string) (History, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return History{}, fmt.Errorf("read history: %w", err)
	}
	var runs []Run
	for _, e := range slices.Backward(newestJournals(entries)) { // the newest name comes first
		if id := runID(e.Name()); id != "" && e.Type().IsRegular() {
			if run, ok := readEnd(dir, id); ok {
				runs = append(runs, run)
			}
		}
	}
	return foldRuns(runs, site, ""), nil
}

// foldRuns combines the runs of a site, the newest first. The start times order
// the runs, because IDs do not order runs within one second, and two runs of a
// site are never active at once.
func foldRuns(runs []Run, site, self string) History {
	h := History{Complete: map[string]string{}, spans: map[string]completeSince{}, mayHaveNewOS: map[string]bool{}}
	decided := map[string]bool{}
	over := false
	runs = slices.Clone(runs)
	markFutureRuns(runs, time.Now())
	slices.SortStableFunc(runs, func(a, b Run) int { return cmp.Or(a.futureRank()-b.futureRank(), b.Started.Compare(a.Started)) })
	for _, r := range runs {
		if r.ID == self || r.Site != site && !(r.hasNewerSchema && r.Site == "") || r.Maintenance != "" || r.isPartial { // a person who holds a host updates none
			continue
		}
		if !over {
			over = h.addFailures(r, decided)
		}
		if r.End != nil {
			h.addTimes(*r.End)
			for _, p := range r.End.Pools {
				h.addPool(p, r.Last)
			}
		} else if r.Cluster == "" {
			h.addUnfinished(r)
		}
	}
	slices.Sort(h.Failed)
	return h
}

// maxTimes is how many durations of a host in one play are kept, and of gaps.
const maxTimes = 20

// maxTimesOfHost bounds the durations of a host in all plays.
const maxTimesOfHost = 10 * maxTimes

func countPlay(list []engine.HostTimes, play string) (n int) {
	for _, t := range list {
		if t.Play == play {
			n++
		}
	}
	return n
}

// addTimes adds the durations of a run. Runs must be added from new to old.
func (h *History) addTimes(end event.RunEnd) {
	if h.Times.Hosts == nil {
		h.Times.Hosts = map[string][]engine.HostTimes{}
	}
	for _, t := range end.Times {
		list := h.Times.Hosts[t.Host]
		if countPlay(list, t.Play) < maxTimes && len(list) < maxTimesOfHost {
			h.Times.Hosts[t.Host] = append(list, t)
		}
	}
	if end.BatchGap > 0 && len(h.Times.Gaps) < maxTimes {
		h.Times.Gaps = append(h.Times.Gaps, end.BatchGap)
	}
}

// addFailures adds the failed hosts of a run, except hosts that a newer run has
// worked on. It returns true if older runs no longer matter, because this run
// has worked on hosts and was not interrupted.
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
	for _, host := range r.Done {
		decided[host] = true
	}
	return !r.wasCutShort() && len(failed)+len(r.Done) > 0
}

// addUnfinished adds the pools in which a run without an end may have begun another OS, so older runs no longer tell that they
// are complete. The journals of older versions do not mark these pools: each step counts. Runs must be added from new to old.
func (h *History) addUnfinished(r Run) {
	for _, pool := range r.Pools {
		h.mayHaveNewOS[pool] = true
	}
	if r.hasNewerSchema || !r.marksNewOS && len(r.Pools) == 0 && len(r.LastSteps)+len(r.Done)+len(r.Failed) > 0 {
		h.mayHaveNewOS[""] = true
	}
}

// addPool adds the status of a pool at the end of a run. Runs must be added from new to old.
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
	if s.differed = s.differed || hasDifferingHosts(p); p.Complete && !s.begun && !s.differed && !h.mayHaveNewOS[p.Name] && !h.mayHaveNewOS[""] && p.OS != "" {
		h.Complete[p.Name] = p.OS
	}
	h.spans[p.Name] = s
}

// hasDifferingHosts ignores hosts that are unreachable or held by a person.
func hasDifferingHosts(p engine.PoolStatus) bool {
	for _, state := range []engine.HostState{engine.Pending, engine.Staged, engine.Updating, engine.Degraded, engine.PausedState} {
		if p.Counts[state] > 0 {
			return true
		}
	}
	return false
}

func (s completeSince) matchesStatus(p engine.PoolStatus) bool {
	return p.Complete == s.complete && (!p.Complete || p.OS == s.os)
}

// WithSince returns the status with the time since which each pool is complete,
// or is not complete. The time stays unset for pools that the last run reported
// differently.
func (h History) WithSince(s engine.Status) engine.Status {
	s.Pools = slices.Clone(s.Pools)
	for i, p := range s.Pools {
		if streak, ok := h.spans[p.Name]; ok && streak.matchesStatus(p) {
			s.Pools[i].Since = streak.from
		}
	}
	return s
}
