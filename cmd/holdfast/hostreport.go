package main

import (
	"context"
	"fmt"
	"strings"

	"holdfast/engine"
	"holdfast/engine/connection"
	"holdfast/engine/hostscript"
	"holdfast/engine/report"
	"holdfast/engine/rollout"
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
	app  *app
	code engine.ExitCode // the worst of all
	list []hostResult
}

// addHost adds an outcome. Those that are not good go to standard error, as all with loud do.
func (r *hostReport) addHost(code engine.ExitCode, host, message string, loud bool) {
	r.code = r.code.Worse(code)
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

// runOnHosts runs a script on each selected host. done is the message about a host on which it succeeded.
func (r *hostReport) runOnHosts(ctx context.Context, s *site, script func(engine.Host) rollout.Script, done string) {
	outlastReader()
	s.hosts.RunScripts(ctx, s.selectedHosts(), script, func(x connection.Answer) {
		switch name := x.Host.Name; {
		case x.Err != nil && !x.Connected:
			r.addHost(engine.ExitUnreachable, name, "unreachable: "+x.Err.Error(), false)
		case x.Err != nil:
			r.addHost(engine.ExitUnreachable, name, x.Err.Error(), false)
		case x.Reply.Code == hostscript.ScriptHeld:
			r.addHost(engine.ExitRefused, name, describeHold(x.Reply), false)
		case x.Reply.Code != 0:
			r.addHost(engine.ExitFailed, name, fmt.Sprintf("exit status %d: %s", x.Reply.Code, textutil.Printable(strings.TrimSpace(x.Reply.Stderr))), false)
		default:
			r.addHost(engine.ExitOK, name, done, false)
		}
	})
}

// endReport prints the list of --json, and returns the error with the exit code.
func (r *hostReport) endReport(s *site) error {
	if r.app.json {
		list := r.list
		if list == nil {
			list = []hostResult{}
		}
		if err := r.app.printJSON(report.HideSecrets(list, s.secrets)); err != nil {
			return err
		}
	}
	return exitWith(r.code)
}
