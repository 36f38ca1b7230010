package main

import (
	"fmt"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/bastion"
	"holdfast/engine/journal"
	"holdfast/engine/report"
	"holdfast/engine/textutil"
)

// membersEvents journals the events of a run and shows them.
type membersEvents struct {
	app     *app
	journal *journal.Writer
	run     string
	seq     int
	hide    func(engine.Event) engine.Event
}

func (m *membersEvents) emit(e engine.Event) error {
	m.seq++
	e.Schema, e.Seq, e.Run, e.Time = engine.EventSchema, m.seq, m.run, bastion.Clock{}.Now()
	e = m.hide(e)
	if err := m.journal.Emit(e); err != nil {
		return err
	}
	if m.app.json {
		return report.JSONLines{W: m.app.stdout}.Emit(e)
	}
	text := strings.TrimSpace(e.Step + " " + e.Host)
	switch {
	case e.Type == engine.StepStarted:
		text += " …"
	case e.Failure != nil:
		text += ": failed: " + e.Failure.Cause
	case e.Type == engine.StepEnded:
		text += ": done in " + engine.Duration(time.Duration(e.Took).Round(100*time.Millisecond)).Trimmed()
		if e.Message != "" {
			text += ": " + e.Message
		}
	case e.Type == engine.RunEnded:
		text = fmt.Sprintf("exit %d: %s", e.End.Exit, e.End.Reason)
	default:
		return nil
	}
	fmt.Fprintf(m.app.stdout, "%s %s\n", e.Time.Format(time.TimeOnly), textutil.Printable(text)) // the journal is the record
	return nil
}
