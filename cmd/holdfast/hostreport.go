package main

import (
	"errors"
	"fmt"
	"sync"

	"holdfast/engine"
	"holdfast/engine/hold"
	"holdfast/engine/report"
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

// runOnHosts calls act for each host, several at once, and adds an outcome as soon as a host has one. done is the message about a
// host on which act succeeded.
func (r *hostReport) runOnHosts(k hold.Keeper, hosts []string, act func(host string) error, done string) {
	outlastReader()
	var mu sync.Mutex
	k.Each(hosts, func(host string) {
		err := act(host)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			r.addHost(engine.ExitOK, host, done, false)
			return
		}
		code, message := judgeHoldError(err)
		r.addHost(code, host, message, false)
	})
}

// judgeHoldError returns the exit code and the message for an error of a hold.Keeper.
func judgeHoldError(err error) (engine.ExitCode, string) {
	var f *engine.Failure
	switch {
	case !errors.As(err, &f) || f.Kind == engine.UnreachableFailure:
		return engine.ExitUnreachable, err.Error()
	case f.Kind == engine.HeldFailure:
		return engine.ExitRefused, f.Cause
	}
	return engine.ExitFailed, hold.DescribeError(err)
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
