package main

import (
	"context"
	"errors"
	"fmt"

	"holdfast/engine"
	"holdfast/engine/bastion"
	"holdfast/engine/journal"
	"holdfast/engine/maintenance"
	"holdfast/engine/report"
)

// maintain plans the request of a person, journals it as a run, carries it out, and reports the outcome of each host. ask returns
// the request without hosts and person, or why nothing may be done.
func (a *app) maintain(ctx context.Context, names []string, ask func(*site) (maintenance.Request, error)) error {
	outlastReader()
	s, err := a.openSite(ctx, names)
	if err != nil {
		return err
	}
	defer s.close()
	request, err := ask(s)
	if err != nil {
		return err
	}
	request.Hosts, request.Holder, request.Bastion = s.selectedNames(), s.run.Start.Holder, s.run.Start.Bastion
	request.Secrets = s.secrets
	end, err := journal.MarkLiving(bastion.StateDir(), s.run.ID)
	if err != nil {
		return failWith(engine.ExitFailed, fmt.Errorf("%w; nothing was changed", err))
	}
	defer end()
	written, err := journal.Create(s.runsDir, s.run.ID)
	if err != nil {
		return failWith(engine.ExitFailed, fmt.Errorf("%w; nothing was changed", err))
	}
	defer func() { _ = written.Close() }() // every event is on disk already
	r := newHostReport(a)
	sink := &report.RunSink{Secrets: s.secrets, Journal: written, View: r}
	s.run.Sink = sink
	outcome := s.run.Maintain(ctx, request)
	if sink.End() == nil { // the journal cannot be written
		flushBriefly(ctx, r.lines)
		return failWith(outcome.Exit, errors.New(s.secrets.Hide(outcome.Verdict.Failures[0].Error())))
	}
	r.endReport(ctx, s.secrets)
	if err := ctx.Err(); err != nil {
		return err
	}
	return exitWith(outcome.Exit)
}
