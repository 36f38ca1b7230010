package tables

import (
	"fmt"
	"io"
	"strings"

	"holdfast/engine"
	"holdfast/engine/report/termtext"
)

// WriteEtcd writes etcd clusters and their members.
func WriteEtcd(w io.Writer, clusters []engine.ClusterFacts, style termtext.Style) error {
	clusters = termtext.Safe(clusters)
	rows := [][]string{{"CLUSTER", "MEMBER", "HOST", "ROLE", "HEALTH", "VERSION", "DB", "RAFT INDEX"}}
	var notes []string
	for _, c := range clusters {
		for _, m := range c.Members {
			rows = append(rows, []string{c.Name, m.Name, m.Host, memberRole(m), memberHealth(m), m.Version, formatMegabytes(m.DBBytes), fmt.Sprint(m.RaftIndex)})
			if !m.Healthy {
				notes = append(notes, style.Red("member "+m.Name+" of "+c.Name+": "+m.Problem))
			}
		}
		if voters := len(c.Voters()); voters > 0 {
			notes = append(notes, fmt.Sprintf("cluster %s: %d of %d voters healthy, quorum %d, %s", c.Name, c.CountHealthy(), voters, engine.QuorumOf(voters), marginText(c)))
		}
		if c.Problem != "" {
			notes = append(notes, style.Red("cluster "+c.Name+": "+c.Problem))
		}
		for _, a := range c.Alarms {
			notes = append(notes, style.Red("cluster "+c.Name+": alarm "+a))
		}
	}
	if err := termtext.WriteTable(w, rows); err != nil {
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
