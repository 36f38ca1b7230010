package main

import (
	"errors"
	"strings"

	"holdfast/engine"
	"holdfast/engine/clock"
	"holdfast/engine/event"
	"holdfast/engine/journal"
	"holdfast/engine/report"
	"holdfast/engine/report/membersview"
	"holdfast/engine/textutil"
)

func membersEnd(err error, stopped bool) event.RunEnd {
	v := engine.NewVerdict(engine.Findings{})
	if err != nil {
		v = engine.Verdict{Exit: membersExit(err), Findings: engine.Findings{Failures: []engine.Failure{{Cause: textutil.Printable(strings.ReplaceAll(err.Error(), "\n", "; "))}}}}
	}
	if err != nil && stopped {
		v.Exit, v.Stopped = engine.ExitStopped, true
	}
	return event.RunEnd{Exit: v.Exit, Verdict: v}
}

// membersEvents writes the events of a run to the journal, and shows them.
type membersEvents struct {
	sink  report.RunSink
	run   string
	seq   int
	ended *event.Event // the end of the run, as the journal has it; nil: it lacks it
}

func (c memberChange) newMembersEvents(s *site, w *journal.Writer) *membersEvents {
	m := &membersEvents{sink: report.RunSink{Secrets: s.secrets, Journal: w, View: c.queueEvents(membersview.Lines{W: c.stdout})}, run: s.run.ID}
	if c.json {
		m.sink.View = c.queueEvents(report.JSONLines{W: c.stdout})
	}
	return m
}

func (m *membersEvents) emitEvent(e event.Event) error {
	m.seq++
	e.Schema, e.Seq, e.Run, e.Time = event.Schema, m.seq, m.run, clock.Real{}.Now()
	err := m.sink.Emit(e)
	if err == nil {
		m.ended = m.sink.End()
	}
	return err
}

func membersExit(err error) engine.ExitCode {
	var f *engine.Failure
	switch {
	case err == nil:
		return engine.ExitOK
	case errors.As(err, &f) && (f.Kind == engine.HeldFailure || f.Kind == engine.RefusedFailure):
		return engine.ExitRefused
	case errors.As(err, &f) && f.Kind == engine.UnreachableFailure:
		return engine.ExitUnreachable
	}
	return engine.ExitFailed
}
