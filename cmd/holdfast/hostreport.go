package main

import (
	"fmt"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/hold"
	"holdfast/engine/maintenance"
	"holdfast/engine/report"
	"holdfast/engine/report/termtext"
)

// hostResult is the outcome of a command for one host, in JSON.
type hostResult struct {
	Host    string        `json:"host"`
	Outcome resultOutcome `json:"outcome"`
	Message string        `json:"message"`
}

// resultOutcome tells how a command ended for a host.
type resultOutcome string

// All outcomes.
const (
	resultDone        resultOutcome = "done"        // nothing is left to do
	resultRefused     resultOutcome = "refused"     // because of a hold, a run or a quorum
	resultUnreachable resultOutcome = "unreachable" // the host did not answer
	resultFailed      resultOutcome = "failed"      // a step failed, or the answer was not understood
)

// outcomeOf returns the outcome of a host for which a command would exit with the code.
func outcomeOf(code engine.ExitCode) resultOutcome {
	switch code {
	case engine.ExitUnreachable:
		return resultUnreachable
	case engine.ExitRefused:
		return resultRefused
	case engine.ExitFailed:
		return resultFailed
	default:
		return resultDone
	}
}

// hostReport tells the outcomes of a command for hosts: as lines, or with --json as one list at the end.
type hostReport struct {
	app  *app
	list []hostResult
}

// addHost adds an outcome. Those that are not good go to standard error, as all with loud do.
func (r *hostReport) addHost(code engine.ExitCode, host, message string, loud bool) {
	if r.app.json {
		r.list = append(r.list, hostResult{host, outcomeOf(code), message})
		return
	}
	out := r.app.stdout
	if loud || code != engine.ExitOK {
		out = r.app.stderr
	}
	fmt.Fprintf(out, "%s: %s\n", host, message)
}

// Emit adds the outcomes that an event of a run of maintenance has.
func (r *hostReport) Emit(e event.Event) error {
	switch e.Type {
	case event.MaintenancePlanned:
		for _, n := range e.Maintenance.Notices {
			fmt.Fprintf(r.app.stderr, "holdfast: warning: %s\n", termtext.SafeLine(n.Text))
		}
		for _, h := range e.Maintenance.Hosts {
			if h.Found != "" && !r.app.json { // the outcome comes later
				r.addHost(engine.ExitOK, h.Host, termtext.SafeLine(h.Found), h.Unreadable)
			}
		}
	case event.StepProgress:
		if e.Message != "" && !r.app.json {
			fmt.Fprintf(r.app.stderr, "%s: %s: %s\n", e.Host, e.Step, termtext.SafeLine(e.Message))
		}
	case event.Warned:
		fmt.Fprintf(r.app.stderr, "holdfast: warning: %s\n", termtext.SafeLine(e.Message))
	case event.HostDone:
		r.addHost(engine.ExitOK, e.Host, termtext.SafeLine(e.Message), false)
	case event.HostFailed:
		r.addHost(maintenance.ExitOf(*e.Failure), e.Host, termtext.SafeLine(hold.DescribeError(&engine.Failure{Cause: e.Failure.Cause, Stderr: e.Failure.Stderr})), true)
	default: // the other events have no outcome
	}
	return nil
}

// endReport prints the list of --json, and returns an error with the exit code.
func (r *hostReport) endReport(s *site, code engine.ExitCode) error {
	if r.app.json {
		list := r.list
		if list == nil {
			list = []hostResult{}
		}
		if err := r.app.printJSON(report.HideSecrets(list, s.secrets)); err != nil {
			return err
		}
	}
	return exitWith(code)
}
