package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"holdfast/cmd/holdfast-lab/internal/bench"
	"holdfast/cmd/holdfast-lab/internal/demo"
)

func benchCommand(open opener) *cobra.Command {
	cmd := &cobra.Command{Use: "bench", Short: "Measure holdfast on real hosts"}
	cmd.AddCommand(benchEtcdIOCommand(open))
	return cmd
}

func benchEtcdIOCommand(open opener) *cobra.Command {
	var (
		b             bench.Bench
		ways, size    string
		megabytes     uint64
		keep          bool
		perMegabyte   uint64 = 10 // operations per second
		defaultUpdate        = "500M"
	)
	cmd := &cobra.Command{
		Use:   "etcd-io",
		Short: "Measure what an OS update of a member costs etcd, done in five ways",
		Long: "Measure what an OS update of one of three etcd members, the leader, costs the cluster. Each run has fresh hosts\n" +
			"with equal, slow disks. The ways:\n" +
			"  r  a bare reboot, for comparison\n" +
			"  a  naive: etcd is stopped, then the OS is fetched, deployed and booted\n" +
			"  b  staged plainly with ostree while etcd runs; holdfast does the rest\n" +
			"  c  staged by holdfast without a governor\n" +
			"  d  staged by holdfast with a governor, from a server\n" +
			"  e  staged by holdfast with a governor, from the bastion\n" +
			"A run takes one to ten minutes. The machine should have nothing else to do. The lab is taken down before and\n" +
			"afterwards, with any hosts that were there.",
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&ways, "ways", "rabcde", "which ways")
	cmd.Flags().IntVar(&b.Runs, "runs", 3, "how often each way is measured")
	cmd.Flags().StringVar(&size, "size", defaultUpdate, "size of the update")
	cmd.Flags().Uint64Var(&megabytes, "mbps", 50, "speed of each disk, in MB/s")
	cmd.Flags().Uint64Var(&b.Speed.IOPS, "iops", 0, "operations per second of each disk (default 10 times --mbps)")
	cmd.Flags().StringVar(&b.Logs, "logs", "", "write the events and the latencies of each run to this folder")
	cmd.Flags().BoolVar(&keep, "keep", false, "leave the last lab up")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var err error
		if b.Ways, err = bench.ParseWays(ways); err != nil {
			return fmt.Errorf("read flags: %w", err)
		}
		if b.Bytes, err = parseSize(size); err != nil {
			return err
		}
		if b.Runs < 1 || megabytes < 1 || b.Bytes < 1<<20 {
			return errors.New("read flags: --runs and --mbps must be at least 1, --size at least 1M")
		}
		b.Speed.BytesPerSecond = megabytes * 1e6
		if b.Speed.IOPS == 0 {
			b.Speed.IOPS = megabytes * perMegabyte
		}
		return runBench(cmd, open, &b, keep)
	}
	return cmd
}

func runBench(cmd *cobra.Command, open opener, b *bench.Bench, keep bool) error {
	var err error
	if b.Lab, err = open(cmd); err != nil {
		return err
	}
	if err := b.Lab.Down(cmd.Context(), false); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "holdfast-")
	if err != nil {
		return fmt.Errorf("build holdfast: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	if b.Binary, err = demo.Build(cmd.Context(), dir); err != nil {
		return err
	}
	b.Out = cmd.OutOrStdout()
	b.Lab.Quiet()
	err = b.Run(cmd.Context())
	if keep {
		return err
	}
	if downErr := b.Lab.Down(cmd.Context(), false); downErr != nil && err == nil {
		return downErr
	}
	return err
}
