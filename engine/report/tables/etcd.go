package tables

import (
	"fmt"
	"io"
	"strings"

	"holdfast/engine/etcdfacts"
	"holdfast/engine/report/termtext"
)

// WriteEtcd writes etcd clusters and their members.
func WriteEtcd(w io.Writer, clusters []etcdfacts.ClusterFacts, style termtext.Style) error {
	w = termtext.Sized(w, style.Columns)
	clusters = termtext.Safe(clusters)
	rows := [][]string{{"CLUSTER", "MEMBER", "HOST", "ROLE", "HEALTH", "VERSION", "DB", "IN USE", "RAFT INDEX"}}
	var notes []string
	for _, c := range clusters {
		for _, m := range c.Members {
			rows = append(rows, []string{c.Name, m.Name, m.Host, memberRole(m), memberHealth(m), orDash(m.Version), databaseText(m), inUseText(m), raftText(m)})
			if !m.Healthy {
				notes = append(notes, style.Red("member "+m.Name+" of "+c.Name+": "+m.Problem))
			}
		}
		if voters := len(c.Voters()); voters > 0 {
			notes = append(notes, quorumText(c))
		}
		if c.Problem != "" {
			notes = append(notes, style.Red("cluster "+c.Name+": "+c.Problem))
		}
		for _, a := range c.Alarms {
			notes = append(notes, style.Red("cluster "+c.Name+": alarm "+a))
		}
		notes = append(notes, certificateNotes(c, style)...)
	}
	if err := termtext.WriteTable(w, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, strings.Join(notes, "\n"))
	return err
}

func quorumText(c etcdfacts.ClusterFacts) string {
	voters, healthy := len(c.Voters()), c.CountHealthy()
	quorum, margin := etcdfacts.QuorumOf(voters), c.Margin()
	text := fmt.Sprintf("cluster %s: %d of %d voters healthy, quorum ⌊%d/2⌋ + 1 = %d, margin %d - %d = %d: ",
		c.Name, healthy, voters, voters, quorum, healthy, quorum, margin)
	switch {
	case margin < 0:
		return text + "no quorum, etcd accepts no writes"
	case margin == 0:
		return text + "none may fail"
	}
	return text + fmt.Sprintf("%d may fail", margin)
}

func memberRole(m etcdfacts.Member) string {
	switch {
	case m.Learner:
		return "learner"
	case m.Leader:
		return "leader"
	}
	return "voter"
}

func memberHealth(m etcdfacts.Member) string {
	if m.Healthy {
		return "healthy"
	}
	return "not healthy"
}

func raftText(m etcdfacts.Member) string {
	switch {
	case m.RaftIndex == 0:
		return "-"
	case m.EntriesBehind > 0:
		return fmt.Sprintf("%d, %d behind", m.RaftIndex, m.EntriesBehind)
	}
	return fmt.Sprint(m.RaftIndex)
}

func databaseText(m etcdfacts.Member) string {
	if m.DBQuotaBytes == 0 || m.DBBytes == 0 {
		return formatBytes(m.DBBytes)
	}
	return fmt.Sprintf("%s, quota %s", formatBytes(m.DBBytes), formatBytes(m.DBQuotaBytes))
}

func inUseText(m etcdfacts.Member) string {
	if m.DBInUseBytes == 0 || m.DBBytes == 0 {
		return "-"
	}
	return fmt.Sprintf("%s, %.0f%%", formatBytes(m.DBInUseBytes), 100*float64(m.DBInUseBytes)/float64(m.DBBytes))
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func formatBytes(n int64) string {
	switch {
	case n == 0:
		return "-"
	case n < 1e6:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
