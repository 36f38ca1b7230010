package tables

import (
	"fmt"
	"io"
	"time"

	"holdfast/engine"
	"holdfast/engine/report/termtext"
)

// HeldHost is a host with its hold.
type HeldHost struct {
	Host    string       `json:"host"`
	Hold    *engine.Hold `json:"hold,omitempty"`
	Problem string       `json:"problem,omitempty"`
	Expired bool         `json:"expired,omitempty"`

	Rebooted bool `json:"rebooted,omitempty"` // the host has rebooted since a person took its hold

	Unreachable string    `json:"unreachable,omitempty"` // why the host was not reached; if set, Hold is the one that this bastion last saw
	Silent      bool      `json:"silent,omitempty"`      // a host that was not reached is off or does not answer at all
	LastSeen    time.Time `json:"last_seen,omitzero"`    // when this bastion last saw the hold of a host that was not reached
	Power       string    `json:"power,omitempty"`       // power of a host that was not reached; missing: not known
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
		reason += h.Hold.DescribeDrain("; ")
		if h.Rebooted {
			reason += "; the host has rebooted since"
		}
		if !h.LastSeen.IsZero() {
			absence := "cannot be reached (" + h.Unreachable + ")"
			if h.Silent {
				absence = "does not answer"
			}
			reason += "; " + absence + ", last seen " + h.LastSeen.UTC().Format(timeLayout)
		}
		if h.Power != "" {
			reason += "; power " + h.Power
		}
		rows = append(rows, []string{h.Host, string(h.Hold.Kind), h.Hold.Holder, h.Hold.Acquired.UTC().Format(timeLayout), until, reason})
	}
	return termtext.WriteLongTable(w, rows)
}
