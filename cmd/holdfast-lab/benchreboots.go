package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"holdfast/cmd/holdfast-lab/internal/demo"
	"holdfast/cmd/holdfast-lab/internal/reboots"
)

func benchRebootsCommand(open opener) *cobra.Command {
	var results, table string
	var keep bool
	b := &reboots.Bench{}
	cmd := &cobra.Command{
		Use:   "reboots",
		Short: "Measure full and soft reboots of the hosts of etcd members, or kexecs in qemu",
		Long: "Measure how an OS update of the host of one etcd member, with the kernel that runs, affects the cluster and the host. Each run\n" +
			"has fresh hosts of testing with composefs: three members of one cluster, and the only member of another. The ways:\n" +
			"  f  a full reboot (--full-reboot)\n" +
			"  s  a soft reboot\n" +
			"  k  a soft reboot during which etcd runs on (survive_soft_reboots); left out if the inventory does not know it\n" +
			"Each way is measured for the leader and for a follower of three, and for the only member of a cluster.\n" +
			"With --qemu, a host in qemu without a member goes to another OS with another kernel, and back, by turns with\n" +
			"  f  a full reboot (--full-reboot)\n" +
			"  x  a kexec\n" +
			"Its processor is emulated, so only the difference between the ways means something.\n" +
			"Ctrl-C ends the bench and prints the table so far. If --results names a folder with results, only runs that are\n" +
			"missing or have failed are measured, so that ways can be measured one after the other. Put the lab in memory\n" +
			"with --dir /dev/shm/lab. The machine should have nothing else to do. The lab is taken down before and afterwards.",
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&b.Ways, "ways", "", "which ways (default all)")
	cmd.Flags().BoolVar(&b.Qemu, "qemu", false, "measure a host in qemu")
	cmd.Flags().IntVar(&b.Runs, "runs", 3, "how often each way is measured for each host")
	cmd.Flags().DurationVar(&b.Firmware, "firmware", time.Minute, "how long the firmware takes before each boot")
	cmd.Flags().StringVar(&results, "results", "", "folder for the results and events of each run (default holdfast-reboots-TIME)")
	cmd.Flags().StringVar(&table, "table", "", "only print the table of the results in this folder; nothing is measured")
	cmd.Flags().BoolVar(&keep, "keep", false, "leave the last lab up")
	cmd.MarkFlagsMutuallyExclusive("results", "table")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		for flag, dir := range map[string]string{"results": results, "table": table} {
			if cmd.Flags().Changed(flag) && dir == "" {
				return fmt.Errorf("read flags: --%s must name a folder; its value is empty", flag)
			}
		}
		b.Out = cmd.OutOrStdout()
		if table != "" {
			return reboots.PrintTable(b.Out, reboots.Results{Dir: table})
		}
		if err := b.Check(); err != nil {
			return fmt.Errorf("read flags: %w", err)
		}
		b.Results.Dir = cmp.Or(results, "holdfast-reboots-"+time.Now().Format("20060102-150405"))
		return runRebootsBench(cmd, open, b, keep)
	}
	return cmd
}

// runRebootsBench takes the lab down only after all preparations that may fail.
func runRebootsBench(cmd *cobra.Command, open opener, b *reboots.Bench, keep bool) error {
	l, release, err := openReserved(open, cmd)
	if err != nil {
		return err
	}
	defer release()
	b.Lab = l
	dir, err := os.MkdirTemp("", "holdfast-")
	if err != nil {
		return fmt.Errorf("build holdfast: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	if b.Binary, err = demo.Build(cmd.Context(), dir); err != nil {
		return err
	}
	if err := b.Results.Make(); err != nil {
		return err
	}
	if err := l.Down(cmd.Context(), false); err != nil {
		return err
	}
	l.Quiet()
	err = b.Run(cmd.Context())
	if keep {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), downTimeout)
	defer cancel()
	return errors.Join(err, l.Down(ctx, false))
}
