package summary

import (
	"maps"
	"slices"

	"holdfast/engine"
	"holdfast/engine/event"
)

// HostResult is the result of a run for one host that it touched.
type HostResult struct {
	event.HostTotals

	Outcome   string          // the outcome in words, such as "failed at finalize"
	Work      string          // the changes in a few words
	StagedIn  engine.Duration // duration of its stagings
	HeldFor   engine.Duration // time from hold to release
	StillHeld bool            // its hold has not ended
	Updated   bool
}

// Totals has the sums over all hosts that a run touched.
type Totals struct {
	Touched       int
	Updated       int
	NonDisruptive int // updated hosts that were not disrupted
	Held          int // hosts that are still held
	Fetching      int // hosts that fetched something from the bastion
	Fetched       int64
	FetchedAgain  int64           // of these, bytes that were sent before and lost with a connection
	Took          engine.Duration // time from the first event to the last
}

// Results returns the results of all hosts that the run touched, by name. Its
// figures are those of the end of the run.
func (s *Summary) Results() []HostResult {
	var results []HostResult
	for _, h := range s.listTouched() {
		h.Host = h.name // a host without figures is not in the end of the run
		results = append(results, HostResult{
			HostTotals: h.HostTotals, Outcome: h.outcomeText(), Work: h.workText(), StagedIn: h.staged,
			HeldFor: h.heldFor, StillHeld: h.stillHeld(), Updated: h.updated,
		})
	}
	return results
}

// touchedHost is a host with its totals.
type touchedHost struct {
	*hostSummary
	event.HostTotals
}

// listTouched returns the hosts that the run touched, by name.
func (s *Summary) listTouched() (touched []touchedHost) {
	figures := map[string]event.HostTotals{}
	for _, h := range s.end.Hosts {
		figures[h.Host] = h
	}
	for _, name := range slices.Sorted(maps.Keys(s.hosts)) {
		if h := s.hosts[name]; h.begun || h.failure != nil {
			touched = append(touched, touchedHost{h, figures[name]})
		}
	}
	return touched
}

func (h *hostSummary) workText() string {
	switch {
	case h.due == nil:
		return h.did
	case h.did == "":
		return h.due.did
	}
	return h.did + "; not begun: " + h.due.did
}

func (h *hostSummary) stillHeld() bool { return !h.held.IsZero() }

func (h *hostSummary) isNonDisruptive() bool { return h.begun && h.neverHeld }

func (h *hostSummary) outcomeText() string {
	switch {
	case h.updated && h.failedAction != nil:
		return "updated, by a reboot"
	case h.updated:
		return "updated"
	case h.failure != nil && h.failure.Kind == engine.StoppedFailure:
		return "stopped at " + h.failure.Step
	case h.failure != nil && h.failure.Kind == engine.HeldFailure:
		return "left alone at " + h.failure.Step
	case h.failure != nil && h.rolledBack():
		return "rolled back after " + h.failure.Step
	case h.failure != nil:
		return "failed at " + h.failure.Step
	case h.staged > 0:
		return "staged"
	}
	return "not finished"
}

// Totals returns the sums over all hosts that the run touched.
func (s *Summary) Totals() Totals { return s.sumTotals(s.listTouched()) }

func (s *Summary) sumTotals(touched []touchedHost) Totals {
	t := Totals{Touched: len(touched), Took: durationBetween(s.began, s.now)}
	for _, h := range touched {
		if h.FetchedBytes > 0 {
			t.Fetching++
			t.Fetched += h.FetchedBytes
			t.FetchedAgain += h.FetchedAgainBytes
		}
		if h.updated {
			t.Updated++
			if h.isNonDisruptive() {
				t.NonDisruptive++
			}
		}
		if h.stillHeld() {
			t.Held++
		}
	}
	return t
}

// EtcdTotals has the figures of one etcd cluster over a run.
type EtcdTotals struct {
	event.ClusterTotals

	Voters    int      // voters at the moment with the fewest healthy ones
	Least     int      // lowest number of healthy voters
	Quorum    int      // voters that must be healthy at that moment
	TakenDown []string // hosts whose member the run took down
	Unseen    []string // hosts whose member ran on during a reboot, while no sample could reach it
}

// Etcd returns the figures of the etcd clusters that were sampled, by name.
func (s *Summary) Etcd() []EtcdTotals {
	sampled := map[string]event.ClusterTotals{}
	for _, c := range s.end.Clusters {
		sampled[c.Cluster] = c
	}
	var all []EtcdTotals
	for _, name := range slices.Sorted(maps.Keys(s.clusters)) {
		c := s.clusters[name]
		t := EtcdTotals{ClusterTotals: sampled[name], Voters: c.voters, Least: c.least, Quorum: c.quorum}
		t.Cluster = name
		if t.Samples+t.Unanswered == 0 { // the run disrupts no member
			continue
		}
		if w := s.etcd[name]; w != nil {
			t.TakenDown, t.Unseen = w.TakenDown, w.Unseen
		}
		all = append(all, t)
	}
	return all
}

// Latencies returns the disk latencies of the etcd members that were sampled.
func (s *Summary) Latencies() []event.MemberLatency { return s.end.Latency }

// WALText formats the p99 of WAL fsync of a window, or returns "-".
func WALText(p *engine.LatencyPoint) string { return walText(p) }

// CommitText formats the p99 of backend commit of a window, or returns "-".
func CommitText(p *engine.LatencyPoint) string { return commitText(p) }

// CommandLine returns the command of the run as a person types it, without
// secret values, or "" if the journal does not have it.
func (s *Summary) CommandLine() string {
	if s.command.Name == "" {
		return ""
	}
	return commandLine(s.command)
}
