package lines

import (
	"time"

	"holdfast/engine/event"
	"holdfast/engine/report/termtext"
)

// transferLineInterval is the time between two lines about the transfer to a host.
const transferLineInterval = 30 * time.Second

// transferText returns a line every transferLineInterval, and at the end of the transfer.
func (p *Writer) transferText(e event.Event) string {
	if p.Terse {
		return "" // the live status shows the transfer
	}
	last, ok := p.transfers[e.Host]
	if !ok {
		last = e.Time.Add(-time.Duration(e.Took))
	}
	if !e.Progress.Ended && e.Time.Sub(last) < transferLineInterval {
		return ""
	}
	if p.transfers == nil {
		p.transfers = map[string]time.Time{}
	}
	p.transfers[e.Host] = e.Time
	return "  " + e.Host + ": " + e.Step + ": " + termtext.FormatTransfer(*e.Progress)
}
