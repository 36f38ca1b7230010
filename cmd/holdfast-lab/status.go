package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sourcegraph/conc/iter"
	"github.com/spf13/cobra"

	"holdfast/cmd/holdfast-lab/internal/host"
	"holdfast/cmd/holdfast-lab/internal/lab"
)

// statusTimeout limits the wait for a host that does not answer.
const statusTimeout = 4 * time.Second

func statusCommand(open opener) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show each host: power, SSH, booted version, etcd",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := open(cmd)
			if err != nil {
				return err
			}
			if !l.IsUp() {
				return lab.ErrDown
			}
			mapper := iter.Mapper[*lab.Host, []string]{MaxGoroutines: 8}
			hosts := l.Hosts()
			rows := mapper.Map(hosts, func(h **lab.Host) []string { return statusRow(cmd.Context(), *h) })
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "HOST\tADDRESS\tPOWER\tSSH\tVERSION\tCOMMIT\tETCD")
			for _, row := range rows {
				fmt.Fprintln(w, strings.Join(row, "\t"))
			}
			return w.Flush()
		},
	}
}

func statusRow(ctx context.Context, h *lab.Host) []string {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	row := []string{h.Name, h.Address(), "?", "-", "-", "-", "-"}
	state, err := h.State(ctx)
	if err == nil {
		row[2] = string(state)
	}
	if state == host.StateOff {
		return row
	}
	commit, version, err := h.Booted(ctx)
	if err == nil {
		row[3], row[4], row[5] = "ok", version, fmt.Sprintf("%.12s", commit)
	} else {
		row[3] = "no answer"
	}
	if h.Cluster != "" {
		row[6] = etcdColumn(ctx, h)
	}
	return row
}

func etcdColumn(ctx context.Context, h *lab.Host) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	status, err := h.EtcdHealth(ctx)
	switch {
	case err != nil:
		return "unhealthy"
	case status.Leader == status.Header.MemberId:
		return "leader"
	default:
		return "healthy"
	}
}
