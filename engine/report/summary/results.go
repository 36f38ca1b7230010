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

	Outcome       string          // the outcome in words, such as "failed at finalize"
	Work          string          // the changes in a few words
	StagedIn      engine.Duration // duration of its stagings
	HeldFor       engine.Duration // time from hold to release
	StillHeld     bool            // its hold has not ended
	Updated       bool
	NonDisruptive bool // its steps have begun, and needed no hold

	FailedAction *engine.Failure // failed action that a reboot replaced; nil: none
}

// Results returns the results of all hosts that the run touched, by name. Its
// figures are those of the end of the run.
func (s *Summary) Results() []HostResult {
	figures := map[string]event.HostTotals{}
	for _, h := range s.end.Hosts {
		figures[h.Host] = h
	}
	var results []HostResult
	for _, name := range slices.Sorted(maps.Keys(s.hosts)) {
		h := s.hosts[name]
		if !h.begun && h.failure == nil {
			continue
		}
		r := HostResult{
			HostTotals: figures[name], Outcome: h.outcomeText(), Work: h.workText(), StagedIn: h.staged, HeldFor: h.heldFor,
			StillHeld: !h.held.IsZero(), Updated: h.updated, NonDisruptive: h.begun && h.neverHeld, FailedAction: h.failedAction,
		}
		r.Host = name // a host without figures is not in the end of the run
		results = append(results, r)
	}
	return results
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

// Latencies returns the disk latencies of the etcd members that were sampled.
func (s *Summary) Latencies() []event.MemberLatency { return s.end.Latency }

// CommandLine returns the command of the run as a person types it, without
// secret values, or "" if the journal does not have it.
func (s *Summary) CommandLine() string {
	if s.command.Name == "" {
		return ""
	}
	return commandLine(s.command)
}
