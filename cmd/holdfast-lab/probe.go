package main

import (
	"errors"
	"fmt"
	"os/exec"

	"github.com/spf13/cobra"
)

func probeCommand(open opener) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "probe CLUSTER -- COMMAND…",
		Short: "Watch an etcd cluster while a command runs inside the lab's network, and report",
		Args:  cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := open(cmd)
			if err != nil {
				return err
			}
			p, err := l.Probe(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			run := exec.CommandContext(cmd.Context(), args[1], args[2:]...)
			run.Stdin, run.Stdout, run.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			err = l.Start(run)
			if err == nil {
				err = run.Wait()
			}
			report, stopErr := p.Stop()
			fmt.Fprint(cmd.OutOrStdout(), report)
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				err = exitStatus(exit.ExitCode())
			}
			return errors.Join(err, stopErr)
		},
	}
	return cmd
}
