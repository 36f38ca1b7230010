package main

import (
	"fmt"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/hold"
	"holdfast/engine/maintenance"
	"holdfast/engine/report"
	"holdfast/engine/textutil"
)

// hostResult is the outcome of a command for one host, in JSON.
type hostResult struct {
	Host    string `json:"host"`
	Outcome string `json:"outcome"`
	Message string `json:"message"`
}

// hostReport tells the outcomes of a command for hosts: as lines, or with --json as one list at the end.
type hostReport struct {
	app   *app
	list  []hostResult
	ended bool // the run of the command has ended, and its end is in the journal
}

// addHost adds an outcome. Those that are not good go to standard error, as all with loud do.
func (r *hostReport) addHost(code engine.ExitCode, host, message string, loud bool) {
	if r.app.json {
		outcome := "done"
		switch code {
		case engine.ExitUnreachable:
			outcome = "unreachable"
		case engine.ExitRefused:
			outcome = "refused"
		case engine.ExitFailed:
			outcome = "failed"
		default:
		}
		r.list = append(r.list, hostResult{host, outcome, message})
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
			fmt.Fprintf(r.app.stderr, "holdfast: warning: %s\n", textutil.Printable(n.Text))
		}
		for _, h := range e.Maintenance.Hosts {
			if h.Found != "" && !r.app.json { // the outcome comes later
				r.addHost(engine.ExitOK, h.Host, textutil.Printable(h.Found), h.Unreadable)
			}
		}
	case event.HostDone:
		r.addHost(engine.ExitOK, e.Host, textutil.Printable(e.Message), false)
	case event.HostFailed:
		r.addHost(maintenance.ExitOf(*e.Failure), e.Host, textutil.Printable(hold.DescribeError(&engine.Failure{Cause: e.Failure.Cause, Stderr: e.Failure.Stderr})), true)
	case event.RunEnded:
		r.ended = true
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
