package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"holdfast/cmd/holdfast-lab/internal/lab"
	"holdfast/cmd/holdfast-lab/internal/site"
)

func sshCommand(open opener) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ssh HOST [COMMAND…]",
		Short: "Log in to a host, or run a command there",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := open(cmd)
			if err != nil {
				return err
			}
			h, err := l.Host(args[0])
			if err != nil {
				return err
			}
			return l.Replace(append(loginCommand(l, h), args[1:]...))
		},
	}
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func loginCommand(l *lab.Lab, h *lab.Host) []string {
	return []string{
		"ssh", "-F", "none", "-i", filepath.Join(l.Site(), site.Identity),
		"-o", "UserKnownHostsFile=" + filepath.Join(l.Site(), site.KnownHosts), "-o", "IdentitiesOnly=yes",
		"-o", "BatchMode=yes", "-o", "ConnectTimeout=3", "-o", "LogLevel=ERROR", "core@" + h.Address(),
	}
}

func execCommand(open opener) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "exec -- COMMAND…",
		Short: "Run a command of this machine inside the lab's network",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := open(cmd)
			if err != nil {
				return err
			}
			return l.Replace(args)
		},
	}
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func repositoryCommand(open opener) *cobra.Command {
	var bps int
	var stop bool
	cmd := &cobra.Command{
		Use:   "repository [--bps N] [--stop]",
		Short: "Serve the operating system to the hosts, slower or not at all",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := open(cmd)
			if err != nil {
				return err
			}
			if stop {
				return l.StopServing(cmd.Context())
			}
			if bps < 0 {
				return fmt.Errorf("read flags: --bps must not be negative")
			}
			return l.Serve(cmd.Context(), bps)
		},
	}
	cmd.Flags().IntVar(&bps, "bps", 0, "bytes per second for all hosts together; 0 is as fast as it goes")
	cmd.Flags().BoolVar(&stop, "stop", false, "stop serving")
	return cmd
}
