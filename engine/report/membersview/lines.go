package membersview

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/termtext"
)

// Lines writes a line for each step that starts or ends, and a line for the end
// of the run.
type Lines struct{ W io.Writer }

// Emit writes the line of an event, if it has one.
func (l Lines) Emit(e event.Event) error {
	if text := EventText(e); text != "" {
		fmt.Fprintf(l.W, "%s %s\n", e.Time.Format(time.TimeOnly), text) // a lost terminal must not stop a run
	}
	return nil
}

// EventText returns the line of an event without its time, safe for a terminal, or "" if the event has none.
func EventText(e event.Event) string {
	text := stepText(e.Step, e.Host, e.Member)
	switch {
	case e.Type == event.Warned, e.Type == event.Interrupted:
		text = "warning: " + e.Message
	case e.Type == event.StepStarted:
		text += " …"
	case e.Failure != nil:
		text += ": failed: " + e.Failure.Cause
	case e.Type == event.StepEnded:
		text += ": done in " + engine.Duration(time.Duration(e.Took).Round(100*time.Millisecond)).Trimmed()
		if e.Message != "" {
			text += ": " + e.Message
		}
	case e.Type == event.StepProgress && e.Message != "":
		text += " " + e.Message
	case e.Type == event.RunEnded:
		text = fmt.Sprintf("exit %d: %s", e.End.Exit, EndText(e.Cluster, e.End.Verdict))
	default:
		return ""
	}
	return termtext.SafeLine(text)
}

// EndText returns the end of a change of members in a sentence.
func EndText(cluster string, v engine.Verdict) string {
	var parts []string
	if v.Stopped {
		parts = append(parts, "stopped; the next run continues")
	}
	for _, f := range v.Failures {
		parts = append(parts, f.Error())
	}
	if len(parts) == 0 {
		return "the members of etcd cluster " + cluster + " are as they should be"
	}
	return strings.Join(parts, "; ")
}

// stepText returns a step and its host, or the ID of its member if that is on no host of the inventory.
func stepText(action, host, member string) string {
	return strings.TrimSpace(action + " " + cmp.Or(host, member))
}
