package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"holdfast/engine"
	"holdfast/engine/connection"
	"holdfast/engine/report"
	"holdfast/engine/report/tables"
	"holdfast/engine/report/termtext"
	"holdfast/engine/standing"
	"holdfast/modules"
)

func (a *app) holdsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "holds",
		Short: "List the hosts that are held, by whom, why and until when",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.listHolds(cmd.Context()) },
	}
}

func (a *app) listHolds(ctx context.Context) error {
	s, err := a.openSite(ctx, nil)
	if err != nil {
		return err
	}
	defer s.close()
	s.run.Modules, s.run.Hosts = modules.HoldsOnly(), connection.Visits{Hosts: s.hosts}
	facts, err := s.gatherSelected(ctx)
	if err != nil {
		return err
	}
	held, unreached, code := []tables.HeldHost{}, 0, engine.ExitOK
	for _, h := range s.selectedHosts() {
		f := facts[h.Name]
		switch st := (standing.View{}).JudgeFacts(f); {
		case st.Kind == standing.Unreached:
			fmt.Fprintf(a.stderr, "%s: unreachable: %s\n", h.Name, termtext.SafeLine(s.secrets.Hide(f.Unreachable)))
			code = engine.ExitUnreachable
			unreached++
		case st.Kind == standing.HeldWhenLastSeen:
			held = append(held, tables.HeldHost{Host: h.Name, Hold: st.Hold, Unreachable: f.Unreachable, Silent: st.Silent, LastSeen: st.LastHold.Seen, Power: st.LastHold.Power})
		case f.Held():
			held = append(held, tables.HeldHost{Host: h.Name, Hold: f.Hold, Problem: f.HoldProblem, Expired: st.Expired, Rebooted: st.Rebooted})
		}
	}
	held = report.HideSensitive(held, s.loaded.Sensitive)
	if a.json {
		err = a.printJSON(held)
	} else {
		err = tables.WriteHolds(a.tableWriter(), held, unreached)
	}
	if err != nil {
		return err
	}
	return exitWith(code)
}
