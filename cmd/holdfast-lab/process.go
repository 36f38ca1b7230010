package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"holdfast/cmd/holdfast-lab/internal/host"
	"holdfast/cmd/holdfast-lab/internal/kubernetes"
	"holdfast/cmd/holdfast-lab/internal/lab"
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

func bmcCommand(open opener) *cobra.Command {
	return serviceCommand(open, "bmc", (*lab.Lab).ServeBMCHere)
}

func kubernetesCommand(open opener) *cobra.Command {
	return &cobra.Command{
		Use:    "kubernetes CLUSTER",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := open(cmd)
			if err != nil {
				return err
			}
			return l.RunKubernetesHere(cmd.Context(), kubernetes.Cluster(args[0]))
		},
	}
}

// serviceCommand runs a service of the lab until it is told to end.
func serviceCommand(open opener, name string, run func(*lab.Lab, context.Context) error) *cobra.Command {
	return &cobra.Command{
		Use:    name,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := open(cmd)
			if err != nil {
				return err
			}
			return run(l, cmd.Context())
		},
	}
}
