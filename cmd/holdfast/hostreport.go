package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/hold"
	"holdfast/engine/maintenance"
	"holdfast/engine/report"
	"holdfast/engine/report/termtext"
	"holdfast/engine/textutil"
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
	resultStopped     resultOutcome = "stopped"     // a person stopped the command
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
	case engine.ExitStopped:
		return resultStopped
	default:
		return resultDone
	}
}

// hostReport tells the outcomes of a command for hosts: as lines, or with --json as one list at the end. The lines go through a
// queue, so that the steps of no host wait for their reader.
type hostReport struct {
	app   *app
	lines *report.Queue
	list  []hostResult // of --json
}

func newHostReport(a *app) *hostReport {
	if a.json { // the last output is the list
		return &hostReport{app: a, lines: report.NewQueue(hostLines{a})}
	}
	return &hostReport{app: a, lines: a.queueEvents(hostLines{a})}
}

// Emit adds the outcomes that an event of a run of maintenance has.
func (r *hostReport) Emit(e event.Event) error {
	if code, message, ended := readOutcome(e); ended && r.app.json {
		r.list = append(r.list, hostResult{e.Host, outcomeOf(code), message})
	}
	return r.lines.Emit(e)
}

// readOutcome returns false if the event is not the end of a host.
func readOutcome(e event.Event) (code engine.ExitCode, message string, ended bool) {
	switch e.Type {
	case event.HostDone:
		return engine.ExitOK, termtext.SafeLine(e.Message), true
	case event.HostFailed:
		return maintenance.ExitOf(*e.Failure), termtext.SafeLine(hold.DescribeError(&engine.Failure{Cause: e.Failure.Cause, Stderr: e.Failure.Stderr})), true
	default:
		return engine.ExitOK, "", false
	}
}

// endReport waits a moment for the reader of the lines, and prints the list of --json. The work on the hosts is done, so an output that
// cannot be written changes no exit code.
func (r *hostReport) endReport(ctx context.Context, secrets textutil.Secrets) {
	flushBriefly(ctx, r.lines)
	if !r.app.json {
		return
	}
	list := r.list
	if list == nil {
		list = []hostResult{}
	}
	end := r.app.queueEvents(listView{r.app, report.HideSecrets(list, secrets)})
	_ = end.Emit(event.Event{}) // a queue has no errors, and the program waits for it at its end
}

// hostLines writes the lines about hosts. Outcomes that are not good go to standard error. With --json, only warnings and progress are lines.
type hostLines struct{ app *app }

// Emit writes the lines of an event.
func (l hostLines) Emit(e event.Event) error {
	switch e.Type {
	case event.MaintenancePlanned:
		for _, n := range e.Maintenance.Notices {
			fmt.Fprintf(l.app.stderr, "holdfast: warning: %s\n", termtext.SafeLine(n.Text))
		}
		for _, h := range e.Maintenance.Hosts {
			if h.Found != "" {
				l.writeOutcome(h.Host, termtext.SafeLine(h.Found), h.Unreadable)
			}
		}
	case event.StepProgress:
		if e.Message != "" && !l.app.json {
			fmt.Fprintf(l.app.stderr, "%s: %s: %s\n", e.Host, e.Step, termtext.SafeLine(e.Message))
		}
	case event.Warned:
		fmt.Fprintf(l.app.stderr, "holdfast: warning: %s\n", termtext.SafeLine(e.Message))
	default:
		if _, message, ended := readOutcome(e); ended {
			l.writeOutcome(e.Host, message, e.Type == event.HostFailed)
		}
	}
	return nil
}

func (l hostLines) writeOutcome(host, message string, loud bool) {
	if l.app.json { // the list has it
		return
	}
	out := l.app.stdout
	if loud {
		out = l.app.stderr
	}
	fmt.Fprintf(out, "%s: %s\n", host, message)
}

// listView prints the list of --json, once.
type listView struct {
	app  *app
	list []hostResult
}

// Emit prints the list. A reader that has gone away wants no warning.
func (v listView) Emit(event.Event) error {
	err := v.app.printJSON(v.list)
	if err != nil && !errors.Is(err, syscall.EPIPE) {
		v.app.printWarning("the list of the hosts was not written: " + err.Error())
	}
	return err
}
