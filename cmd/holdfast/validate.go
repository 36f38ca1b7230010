package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/engine/report"
	"holdfast/engine/rollout"
)

func (a *app) validateCommand() *cobra.Command {
	var book playbookFlags
	cmd := &cobra.Command{
		Use:   "validate [PLAYBOOK]",
		Short: "Check everything that can be checked without a host",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := book.parseArgs(args); err != nil {
				return err
			}
			a.otherVars = a.playbookVariables(book)
			loaded, err := a.loadInventory()
			if err != nil {
				return err
			}
			inv := loaded.Inventory
			if _, err := a.parseSelection(inv, nil); err != nil {
				return err
			}
			c := a.newConfigs(cmd.Context(), loaded)
			_, configErr := c.States()
			plays := &site{inv: inv, run: &rollout.Run{}}
			playErr := a.readPlays(plays, book)
			absent, authorityErr := a.checkAuthorities(loaded)
			withoutFile, kubeErr := a.checkKubeconfigs(loaded)
			sshErr := errors.Join(a.checkSSHConfig(inv.Hosts)...)
			if err := errors.Join(configErr, playErr, authorityErr, kubeErr, sshErr); err != nil {
				return err
			}
			for _, w := range slices.Concat(loaded.Warnings, c.Warnings, absent, withoutFile, a.checkFiles(loaded)) {
				fmt.Fprintln(a.stderr, "holdfast: warning:", w)
			}
			if a.json {
				return a.printJSON(report.HideSensitive(inv, loaded.Sensitive))
			}
			var pools []string
			for _, p := range inv.Pools {
				pools = append(pools, p.Name)
			}
			documents := ""
			if len(c.Documents) > 0 {
				documents = fmt.Sprintf("; documents: %d", len(c.Documents))
			}
			fmt.Fprintf(a.stdout, "site %s is valid; hosts: %d; pools: %s; etcd clusters: %d%s\n", inv.Site, len(inv.Hosts), strings.Join(pools, ", "), len(inv.Clusters), documents)
			if book.file != "" {
				fmt.Fprintf(a.stdout, "playbook %s is valid; plays: %d\n", book.file, len(plays.run.Plays))
			}
			return nil
		},
	}
	book.addFlags(cmd)
	return cmd
}
