package membersview

import (
	"fmt"
	"io"
	"strings"

	"holdfast/engine/etcd/restore"
	"holdfast/engine/report/termtext"
)

// WriteRestore shows the state of the hosts, how much data would be lost, and the steps.
func WriteRestore(w io.Writer, s restore.State, f restore.Forecast, saved []restore.Source) error {
	rows := [][]string{{"HOST", "ETCD", "DATA", "REVISION", "LAST WRITTEN"}}
	for _, h := range s.Hosts {
		rows = append(rows, restoreRow(s, h))
	}
	for _, file := range saved {
		rows = append(rows, []string{"(this machine)", "-", file.Path, fmt.Sprint(file.Revision), file.Time})
	}
	var b strings.Builder
	if err := termtext.WriteTable(termtext.Sized(&b, termtext.ColumnsOf(w)), rows); err != nil {
		return err
	}
	if f.Refusal == nil {
		b.WriteString(describeLoss(s, f.Source, saved))
	}
	for i, step := range f.Steps {
		text := strings.TrimSpace(step.Action.String() + " " + step.Host)
		if step.Reason != "" {
			text += " (" + step.Reason + ")"
		}
		fmt.Fprintf(&b, "%2d. %s\n", i+1, termtext.SafeLine(text))
	}
	if f.Refusal == nil {
		b.WriteString("Then this command adds the other voters, in the same way as \"holdfast etcd members apply\".\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func restoreRow(s restore.State, h restore.Host) []string {
	row := []string{h.Name, "stopped", "none", "-", "-"}
	if h.Running {
		row[1] = "runs"
	}
	switch {
	case h.Unmounted != "":
		row[1], row[2] = "not known", h.Unmounted+" is not mounted"
	case h.Unreachable != "":
		row[1], row[2] = "unreachable", "not known"
	case h.Replaced:
		row[2] = "of a replaced cluster"
	case h.Unread != "":
		row[2] = "cannot be read: " + h.Unread
	case h.HasData:
		row[2], row[3] = "of member "+h.DataOf, fmt.Sprint(h.Data.Revision)
		if s.HasUnlikeHistories() {
			row[2] += " in cluster " + h.DataCluster
		}
		if h.Data.Time != "" {
			row[4] = h.Data.Time
		}
	}
	if s.IsLost(h.Name) {
		row[2] += ", said to be lost"
	}
	if h.Phase != restore.NoPhase {
		row[2] += ", restore is " + string(h.Phase)
	}
	return row
}

func describeLoss(s restore.State, source restore.Source, saved []restore.Source) string {
	if source.Identity == "" {
		return "The new data of an interrupted restore are used: all writes after them are lost. The plan of that restore had the revisions.\n"
	}
	lines := []string{"source: " + describePlace(source) + ", " + describeRevision(source)}
	newest := s.Freshest(source, saved)
	switch {
	case newest.Revision > source.Revision && newest.Host != "":
		lines = append(lines, fmt.Sprintf("WOULD BE LOST: at least %d revisions, because the data of %s have %s", newest.Revision-source.Revision, newest.Host, describeRevision(newest)))
	case newest.Revision > source.Revision:
		lines = append(lines, fmt.Sprintf("WOULD BE LOST: at least %d revisions, because the snapshot %s has %s", newest.Revision-source.Revision, newest.Path, describeRevision(newest)))
	default:
		lines = append(lines, fmt.Sprintf("WOULD BE LOST: all writes after revision %d; no later revision is known", source.Revision))
	}
	for _, other := range s.OtherHistories(source, saved) {
		lines = append(lines, "WOULD BE LOST: all of "+describePlace(other)+", "+describeRevision(other)+": another history, whose revisions cannot be compared")
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(termtext.SafeLine(line) + "\n")
	}
	return b.String()
}

func describePlace(source restore.Source) string {
	if source.Host != "" {
		return "the data of " + source.Host
	}
	return "the snapshot " + source.Path
}

func describeRevision(s restore.Source) string {
	text := fmt.Sprintf("revision %d", s.Revision)
	if s.Time != "" {
		text += ", last written " + s.Time
	}
	return text
}
