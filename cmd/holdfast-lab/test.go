package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"holdfast/cmd/holdfast-lab/internal/demo"
	"holdfast/cmd/holdfast-lab/internal/idle"
	"holdfast/cmd/holdfast-lab/internal/lab"
	"holdfast/cmd/holdfast-lab/internal/scenario"
)

func testCommand(open opener) *cobra.Command {
	var list, all, verbose bool
	var suite suiteFlags
	var part string
	var o runOptions
	cmd := &cobra.Command{
		Use:   "test [NAME…]",
		Short: "Run the scenarios against real hosts",
		Long: "Run the scenarios against real hosts: those of the core, all, or those whose names match a regular\n" +
			"expression among the arguments. The lab is taken down afterwards, with any hosts that were there before.\n" +
			"Scenarios run side by side, each in a lab of its own, but for those that measure.\n\n" + scenario.Doc(),
	}
	cmd.Flags().BoolVar(&list, "list", false, "list all scenarios and run none")
	cmd.Flags().BoolVar(&all, "all", false, "run all scenarios, not only those of the core")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "print the log of every scenario, not only of those that fail")
	suite.addTo(cmd)
	cmd.Flags().StringVar(&part, "part", "", "run only part I of N parts that take about the same time, as I/N")
	cmd.Flags().IntVar(&o.jobs, "jobs", 0, "how many scenarios run side by side; 0: as many as the machine has processors, or memory and disk space for")
	cmd.Flags().BoolVar(&o.keep, "keep", false, "leave the last lab up; scenarios run one after the other")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if list {
			names, err := scenario.Names()
			fmt.Fprintln(cmd.OutOrStdout(), strings.Join(names, "\n"))
			return err
		}
		if all && len(args) > 0 {
			return errors.New("--all takes no names of scenarios: give one or the other")
		}
		r := &scenario.Runner{Out: cmd.OutOrStdout(), Verbose: verbose, All: all}
		var err error
		if r.Suite, err = suite.parse(); err != nil {
			return err
		}
		if len(args) > 0 {
			if r.Match, err = compileNames(args); err != nil {
				return fmt.Errorf("read arguments: %w", err)
			}
		}
		if part != "" {
			if r.Part, err = scenario.ParsePart(part); err != nil {
				return fmt.Errorf("read flags: --part: %w", err)
			}
		}
		if o.jobs < 0 || o.jobs > 1 && o.keep {
			return errors.New("read flags: --jobs must not be negative, and only 1 with --keep")
		}
		return runScenarios(cmd, open, r, o)
	}
	return cmd
}

// compileNames returns a regular expression that matches the names of scenarios that match one of the arguments. An
// argument that matches no name is an error: the other scenarios would pass, and nobody would miss this one.
func compileNames(args []string) (*regexp.Regexp, error) {
	names, err := scenario.Names()
	if err != nil {
		return nil, err
	}
	for _, arg := range args {
		pattern, err := regexp.Compile(arg)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(names, func(name string) bool { return pattern.MatchString(strings.TrimSuffix(name, " core")) }) {
			return nil, fmt.Errorf("no scenario matches %q; --list shows the names", arg)
		}
	}
	return regexp.Compile(strings.Join(args, "|"))
}

type runOptions struct {
	jobs int // 0: as many as the machine can run
	keep bool
}

// countJobs returns how many labs in a folder the scenarios use. shared is the number of scenarios that can run side by side.
// It returns an error if the folder has no room for one lab.
func (o runOptions) countJobs(dir string, shared int) (int, error) {
	memory, err := idle.AvailableMemory()
	if err != nil {
		return 0, err
	}
	disk, err := idle.FreeDisk(dir)
	if err != nil {
		return 0, err
	}
	jobs, err := scenario.ChooseJobs(runtime.NumCPU(), memory, disk)
	if err != nil {
		return 0, fmt.Errorf("make a lab in %s: %w; free some (holdfast-lab down removes hosts), or name another folder with --dir", dir, err)
	}
	if o.keep {
		return 1, nil
	}
	return max(1, min(cmp.Or(o.jobs, jobs), shared)), nil
}

func runScenarios(cmd *cobra.Command, open opener, r *scenario.Runner, o runOptions) error {
	shared, suites, err := r.CountShared()
	if err != nil {
		return err
	}
	l, release, err := openReserved(open, cmd)
	if err != nil {
		return err
	}
	defer release()
	jobs, err := o.countJobs(l.Dir(), shared)
	if err != nil {
		return err
	}
	if jobs == 1 { // the scenarios with suites of their own build the images
		suites = suites[:1]
	}
	for _, suite := range suites {
		if err := l.Prepare(cmd.Context(), suite); err != nil {
			return err
		}
	}
	l.Quiet()
	beside, err := l.MakeBeside(cmd.Context(), jobs-1, suites)
	if err != nil {
		return err
	}
	r.Labs = append([]*lab.Lab{l}, beside...)
	dir, err := os.MkdirTemp("", "holdfast-")
	if err != nil {
		return fmt.Errorf("build holdfast: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	r.Hasty = sync.OnceValues(func() (string, error) {
		return demo.Build(cmd.Context(), filepath.Join(dir, "hasty"), "fault", "hasty")
	})
	r.Patient = sync.OnceValues(func() (string, error) { return demo.Build(cmd.Context(), filepath.Join(dir, "patient"), "fault") })
	if r.Self, err = os.Executable(); err != nil {
		return fmt.Errorf("find own program: %w", err)
	}
	err = r.Run(cmd.Context())
	if o.keep {
		return err
	}
	// After Ctrl-C, too: hosts that go on use the processors of the machine.
	if downErr := l.Down(context.WithoutCancel(cmd.Context()), false); downErr != nil && err == nil {
		return downErr
	}
	return err
}
