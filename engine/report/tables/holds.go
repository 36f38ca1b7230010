package tables

import (
	"fmt"
	"io"

	"holdfast/engine"
	"holdfast/engine/report/termtext"
)

// HeldHost is a host with its hold.
type HeldHost struct {
	Host    string       `json:"host"`
	Hold    *engine.Hold `json:"hold,omitempty"`
	Problem string       `json:"problem,omitempty"`
	Expired bool         `json:"expired,omitempty"`
}

// WriteHolds writes a table of holds. unreached is the number of unreachable hosts.
func WriteHolds(w io.Writer, held []HeldHost, unreached int) error {
	if len(held) == 0 {
		text := "no host is held"
		if unreached > 0 {
			text = fmt.Sprintf("no host that could be reached is held; %s could not be", termtext.FormatCount(unreached, "host", "hosts"))
		}
		_, err := fmt.Fprintln(w, text)
		return err
	}
	rows := [][]string{{"HOST", "KIND", "HOLDER", "SINCE", "UNTIL", "REASON"}}
	for _, h := range held {
		if h.Hold == nil {
			rows = append(rows, []string{h.Host, "?", "?", "?", "?", h.Problem})
			continue
		}
		until := "-"
		if !h.Hold.Expires.IsZero() {
			until = h.Hold.Expires.UTC().Format(timeLayout)
		}
		if h.Expired {
			until += " (expired)"
		}
		reason := h.Hold.Reason
		if h.Hold.Step != "" {
			reason = "failed at " + h.Hold.Step + ": " + reason
		}
		if h.Hold.Ticket != "" {
			reason += " (" + h.Hold.Ticket + ")"
		}
		rows = append(rows, []string{h.Host, string(h.Hold.Kind), h.Hold.Holder, h.Hold.Acquired.UTC().Format(timeLayout), until, reason})
	}
	return termtext.WriteLongTable(w, rows)
}
