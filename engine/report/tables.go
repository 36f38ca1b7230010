package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/charmbracelet/x/ansi"

	"holdfast/engine"
	"holdfast/engine/journal"
	"holdfast/engine/textutil"
)

var oneLine = strings.NewReplacer("\n", " ", "\t", " ")

func writeTable(w io.Writer, rows [][]string) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 2, 0, 2, ' ', 0)
	for _, r := range rows {
		for i := range r {
			r[i] = oneLine.Replace(textutil.Printable(r[i]))
		}
		_, _ = fmt.Fprintln(t, strings.Join(r, "\t")) // a builder returns no error
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(b.String()) {
		if _, err := io.WriteString(w, strings.TrimRight(line, " \n")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// maxTableWidth is the width above which the last column of a row goes below it. Wide other columns can
// exceed it.
const maxTableWidth = 140

func writeLongTable(w io.Writer, rows [][]string) error {
	return writeTableWithNotes(w, rows, func([]string) int { return maxTableWidth })
}

// writeTableWithNotes writes a table. In a row that exceeds its width the last column goes below.
func writeTableWithNotes(w io.Writer, rows [][]string, mayBe func(row []string) int) error {
	wide := 0
	for n := range len(rows[0]) - 1 {
		column := 0
		for _, r := range rows {
			column = max(column, ansi.StringWidth(r[n]))
		}
		wide += column + 2
	}
	below := make([]string, len(rows))
	for i, r := range rows {
		last := len(r) - 1
		if text := oneLine.Replace(textutil.Printable(r[last])); wide+ansi.StringWidth(text) > mayBe(r) {
			below[i], r[last] = wrapText("    ", text), ""
		}
	}
	var b strings.Builder
	_ = writeTable(&b, rows) // a builder takes everything
	i := 0
	for line := range strings.Lines(b.String()) {
		if _, err := io.WriteString(w, line+below[i]); err != nil {
			return err
		}
		i++
	}
	return nil
}

// WriteEtcd writes etcd clusters and their members.
func WriteEtcd(w io.Writer, clusters []engine.ClusterFacts, style Style) error {
	clusters = withSafeTexts(clusters)
	rows := [][]string{{"CLUSTER", "MEMBER", "HOST", "ROLE", "HEALTH", "VERSION", "DB", "RAFT INDEX"}}
	var notes []string
	for _, c := range clusters {
		for _, m := range c.Members {
			rows = append(rows, []string{c.Name, m.Name, m.Host, memberRole(m), memberHealth(m), m.Version, formatMegabytes(m.DBBytes), fmt.Sprint(m.RaftIndex)})
			if !m.Healthy {
				notes = append(notes, style.red("member "+m.Name+" of "+c.Name+": "+m.Problem))
			}
		}
		if voters := len(c.Voters()); voters > 0 {
			notes = append(notes, fmt.Sprintf("cluster %s: %d of %d voters healthy, quorum %d, %s", c.Name, c.CountHealthy(), voters, engine.QuorumOf(voters), marginText(c)))
		}
		if c.Problem != "" {
			notes = append(notes, style.red("cluster "+c.Name+": "+c.Problem))
		}
		for _, a := range c.Alarms {
			notes = append(notes, style.red("cluster "+c.Name+": alarm "+a))
		}
	}
	if err := writeTable(w, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, strings.Join(notes, "\n"))
	return err
}

func marginText(c engine.ClusterFacts) string {
	switch m := c.Margin(); {
	case len(c.Voters()) == 0 || m < 0:
		return "no quorum"
	case m == 0:
		return "none to spare"
	default:
		return fmt.Sprintf("%d to spare", m)
	}
}

func memberRole(m engine.Member) string {
	switch {
	case m.Learner:
		return "learner"
	case m.Leader:
		return "leader"
	}
	return "voter"
}

func memberHealth(m engine.Member) string {
	if m.Healthy {
		return "healthy"
	}
	return "not healthy"
}

func formatMegabytes(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

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
			text = fmt.Sprintf("no host that could be reached is held; %s could not be", formatCount(unreached, "host", "hosts"))
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
	return writeLongTable(w, rows)
}

const timeLayout = "2006-01-02 15:04 MST"

// WriteRuns writes a table of runs.
func WriteRuns(w io.Writer, runs []journal.Run) error {
	if len(runs) == 0 {
		_, err := fmt.Fprintln(w, "no runs")
		return err
	}
	rows := [][]string{{"RUN", "SITE", "BY", "STARTED", "TOOK", "EXIT", "UPDATED", "FAILED", "OUTCOME"}}
	for _, r := range runs {
		exit, outcome := "-", "did not end; it was killed"
		if r.UnderWay {
			outcome = "still under way"
		}
		if r.End != nil {
			exit, outcome = fmt.Sprint(int(r.End.Exit)), r.End.Reason
		}
		if r.Problem != "" {
			outcome = r.Problem
		}
		rows = append(rows, []string{
			r.ID, r.Site, r.Holder, r.Started.UTC().Format(timeLayout), formatDuration(engine.Duration(r.Last.Sub(r.Started).Round(time.Second))),
			exit, fmt.Sprint(len(r.Updated)), fmt.Sprint(len(r.Failed)), outcome,
		})
	}
	return writeLongTable(w, rows)
}
