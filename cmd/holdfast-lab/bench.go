package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"holdfast/cmd/holdfast-lab/internal/bench"
	"holdfast/cmd/holdfast-lab/internal/demo"
	"holdfast/cmd/holdfast-lab/internal/disk"
)

func benchCommand(open opener) *cobra.Command {
	cmd := &cobra.Command{Use: "bench", Short: "Measure holdfast on real hosts"}
	cmd.AddCommand(benchEtcdIOCommand(open))
	return cmd
}

// benchFlags are the flags of bench etcd-io.
type benchFlags struct {
	ways, size             string
	runs                   int
	megabytes              []uint
	iops                   uint64
	results, resume, table string
	keep                   bool
}

func benchEtcdIOCommand(open opener) *cobra.Command {
	var f benchFlags
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
			"Three runs of each way with the default size take one to four hours on disks of 50 MB/s, and one to three hours\n" +
			"on disks of 200 MB/s: runs of (d) and (e) take 5 to 60 minutes, the others about 2 minutes. An estimate is printed\n" +
			"at the start and after each run. Ctrl-C ends the bench and prints the tables so far; --resume continues.\n" +
			"Put the lab in memory with --dir /dev/shm/lab (about 4 GiB): otherwise the disks of all hosts share one disk. Slow\n" +
			"disks need root and the blkio controller of cgroup v1. The machine should have nothing else to do. The lab is taken\n" +
			"down before and afterwards, with any hosts that were there.",
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&f.ways, "ways", "rabcde", "which ways; each round begins with the next one")
	cmd.Flags().IntVar(&f.runs, "runs", 3, "how often each way is measured")
	cmd.Flags().StringVar(&f.size, "size", "500M", "size of the update")
	cmd.Flags().UintSliceVar(&f.megabytes, "mbps", []uint{50}, "speeds of the disks, in MB/s; each has a table")
	cmd.Flags().Uint64Var(&f.iops, "iops", 0, "operations per second of each disk (default 10 times --mbps)")
	cmd.Flags().StringVar(&f.results, "results", "", "new folder for the results and logs of each run (default holdfast-bench-TIME)")
	cmd.Flags().StringVar(&f.resume, "resume", "", "continue the series in this folder, with its settings; other flags change them")
	cmd.Flags().StringVar(&f.table, "table", "", "only print the tables of the results in this folder")
	cmd.Flags().BoolVar(&f.keep, "keep", false, "leave the last lab up")
	cmd.MarkFlagsMutuallyExclusive("results", "resume", "table")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if f.table != "" {
			results, _, err := bench.OpenResults(f.table)
			if err != nil {
				return err
			}
			return bench.PrintTables(cmd.OutOrStdout(), results)
		}
		results, settings, err := f.openResults(cmd.Flags().Changed)
		if err != nil {
			return err
		}
		return runBench(cmd, open, &bench.Bench{Settings: settings, Results: results}, f.keep)
	}
	return cmd
}

// openResults makes or opens the results folder, and returns the settings of the
// series. isSet reports whether a flag was given.
func (f benchFlags) openResults(isSet func(string) bool) (*bench.Results, bench.Settings, error) {
	var results *bench.Results
	var settings bench.Settings
	var err error
	if f.resume != "" {
		if results, settings, err = bench.OpenResults(f.resume); err != nil {
			return nil, settings, err
		}
	}
	if settings, err = f.changeSettings(settings, func(name string) bool { return f.resume == "" || isSet(name) }); err != nil {
		return nil, settings, err
	}
	if f.resume == "" {
		if f.results == "" {
			f.results = "holdfast-bench-" + time.Now().Format("20060102-150405")
		}
		results, err = bench.CreateResults(f.results, settings)
	}
	return results, settings, err
}

// changeSettings returns the settings with those flags that apply.
func (f benchFlags) changeSettings(s bench.Settings, applies func(string) bool) (bench.Settings, error) {
	if applies("ways") {
		s.Ways = f.ways
	}
	if applies("runs") {
		s.Runs = f.runs
	}
	if applies("size") {
		size, err := parseSize(f.size)
		if err != nil {
			return s, err
		}
		s.Bytes = size
	}
	if applies("mbps") || applies("iops") {
		s.Speeds = nil
		for _, megabytes := range f.megabytes {
			speed := disk.Speed{BytesPerSecond: uint64(megabytes) * 1e6, IOPS: f.iops}
			if f.iops == 0 {
				speed.IOPS = 10 * uint64(megabytes)
			}
			s.Speeds = append(s.Speeds, speed)
		}
	}
	if err := s.Check(); err != nil {
		return s, fmt.Errorf("read flags: %w", err)
	}
	return s, nil
}

// downTimeout bounds how long the lab is taken down after the bench was
// interrupted.
const downTimeout = 3 * time.Minute

func runBench(cmd *cobra.Command, open opener, b *bench.Bench, keep bool) (err error) {
	if b.Lab, err = open(cmd); err != nil {
		return err
	}
	throttle, err := disk.OpenThrottle()
	if err != nil {
		return err
	}
	if err := errors.Join(throttle.Close(), b.Lab.Down(cmd.Context(), false)); err != nil {
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), downTimeout)
	defer cancel()
	return errors.Join(err, b.Lab.Down(ctx, false))
}
