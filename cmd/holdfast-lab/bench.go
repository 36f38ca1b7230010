package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/spf13/cobra"

	"holdfast/cmd/holdfast-lab/internal/bench"
	"holdfast/cmd/holdfast-lab/internal/demo"
	"holdfast/cmd/holdfast-lab/internal/disk"
)

func benchCommand(open opener) *cobra.Command {
	cmd := &cobra.Command{Use: "bench", Short: "Measure holdfast on real hosts"}
	cmd.AddCommand(benchEtcdIOCommand(open), benchRebootsCommand(open), benchForecastsCommand(open))
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
		Short: "Measure the effect of an OS update of a member on etcd, in five ways",
		Long: "Measure how an OS update of the leader of three etcd members affects the cluster. Each run has fresh hosts\n" +
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
	cmd.Flags().StringVar(&f.resume, "resume", "", "continue the series in this folder, with its settings, except for flags that are given")
	cmd.Flags().StringVar(&f.table, "table", "", "only print the tables of the results in this folder; nothing is measured")
	cmd.Flags().BoolVar(&f.keep, "keep", false, "leave the last lab up")
	cmd.MarkFlagsMutuallyExclusive("results", "resume", "table")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := f.checkFolders(cmd.Flags().Changed); err != nil {
			return err
		}
		if f.table != "" {
			results, _, err := bench.OpenResults(f.table)
			if err != nil {
				return err
			}
			return errors.Join(bench.PrintTables(cmd.OutOrStdout(), results), results.Close())
		}
		return f.runBench(cmd, open)
	}
	return cmd
}

// checkFolders returns an error if a flag names a folder with an empty text, such
// as an unset variable of a shell. Such a flag must not start a new series, which
// takes the lab down.
func (f benchFlags) checkFolders(isSet func(string) bool) error {
	var all []error
	for _, flag := range []struct{ name, dir string }{{"results", f.results}, {"resume", f.resume}, {"table", f.table}} {
		if isSet(flag.name) && flag.dir == "" {
			all = append(all, fmt.Errorf("read flags: --%s must name a folder; its value is empty", flag.name))
		}
	}
	return errors.Join(all...)
}

// readSettings returns the settings of the series. A series that continues has
// its own, except for flags that are given. isSet reports whether a flag is given.
func (f benchFlags) readSettings(isSet func(string) bool) (bench.Settings, error) {
	if f.resume == "" {
		return f.changeSettings(bench.Settings{}, func(string) bool { return true })
	}
	results, settings, err := bench.OpenResults(f.resume)
	if err != nil {
		return settings, err
	}
	if err := results.Close(); err != nil {
		return settings, err
	}
	return f.changeSettings(settings, isSet)
}

// openResults makes the folder of a new series, or opens the folder of a series
// that continues.
func (f benchFlags) openResults(s bench.Settings) (*bench.Results, error) {
	if f.resume != "" {
		results, _, err := bench.OpenResults(f.resume)
		return results, err
	}
	return bench.CreateResults(cmp.Or(f.results, "holdfast-bench-"+time.Now().Format("20060102-150405")), s)
}

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
	if applies("mbps") {
		s.Speeds = nil
		for _, megabytes := range f.megabytes {
			s.Speeds = append(s.Speeds, disk.Speed{BytesPerSecond: min(uint64(megabytes), math.MaxUint64/bench.Megabyte) * bench.Megabyte})
		}
	}
	if applies("mbps") || applies("iops") {
		for i, speed := range s.Speeds {
			s.Speeds[i].IOPS = cmp.Or(f.iops, 10*(speed.BytesPerSecond/bench.Megabyte))
		}
	}
	err := s.Check()
	switch {
	case err != nil && f.resume != "":
		return s, fmt.Errorf("read flags and the settings of %s: %w", f.resume, err)
	case err != nil:
		return s, fmt.Errorf("read flags: %w", err)
	}
	return s, nil
}

// downTimeout bounds how long the lab is taken down after the bench was
// interrupted.
const downTimeout = 3 * time.Minute

// runBench makes the folder and takes the lab down only after all preparations that may fail.
func (f benchFlags) runBench(cmd *cobra.Command, open opener) error {
	b := &bench.Bench{Out: cmd.OutOrStdout()}
	var err error
	if b.Settings, err = f.readSettings(cmd.Flags().Changed); err != nil {
		return err
	}
	l, release, err := openReserved(open, cmd)
	if err != nil {
		return err
	}
	defer release()
	b.Lab = l
	throttle, err := disk.OpenThrottle()
	if err != nil {
		return err
	}
	if err := throttle.Close(); err != nil {
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
	if b.Results, err = f.openResults(b.Settings); err != nil {
		return err
	}
	if err := b.Lab.Down(cmd.Context(), false); err != nil {
		return errors.Join(err, b.Results.Close())
	}
	b.Lab.Quiet()
	err = b.Run(cmd.Context())
	if f.keep {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), downTimeout)
	defer cancel()
	return errors.Join(err, b.Lab.Down(ctx, false))
}
