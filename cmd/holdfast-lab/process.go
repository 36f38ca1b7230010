package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"holdfast/cmd/holdfast-lab/internal/host"
)

func superviseCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "supervise FOLDER",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return host.Supervise(cmd.Context(), host.Folder(args[0]))
		},
	}
}

func bmcCommand(open opener) *cobra.Command {
	return &cobra.Command{
		Use:    "bmc",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := open(cmd)
			if err != nil {
				return err
			}
			return l.ServeBMCHere(cmd.Context())
		},
	}
}

func serveCommand(open opener) *cobra.Command {
	return &cobra.Command{
		Use:    "serve BYTES-PER-SECOND",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			bps, err := strconv.Atoi(args[0])
			if err != nil {
				return fmt.Errorf("read arguments: %w", err)
			}
			l, err := open(cmd)
			if err != nil {
				return err
			}
			return l.ServeHere(cmd.Context(), bps)
		},
	}
}

func kubernetesCommand(open opener) *cobra.Command {
	return &cobra.Command{
		Use:    "kubernetes",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := open(cmd)
			if err != nil {
				return err
			}
			return l.RunKubernetesHere(cmd.Context())
		},
	}
}
