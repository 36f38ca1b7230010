package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/cmd/holdfast-lab/internal/demo"
	"holdfast/cmd/holdfast-lab/internal/image"
	"holdfast/cmd/holdfast-lab/internal/scenario"
)

func testCommand(open opener) *cobra.Command {
	var list, all, verbose, keep bool
	var suite string
	cmd := &cobra.Command{
		Use:   "test [NAME…]",
		Short: "Run the scenarios against real hosts",
		Long: "Run the scenarios against real hosts: those of the core, all, or those whose names match a regular\n" +
			"expression among the arguments. The lab is taken down afterwards, with any hosts that were there before.\n\n" + scenario.Doc(),
	}
	cmd.Flags().BoolVar(&list, "list", false, "list all scenarios and run none")
	cmd.Flags().BoolVar(&all, "all", false, "run all scenarios, not only those of the core")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "print the log of every scenario, not only of those that fail")
	addSuiteFlag(cmd, &suite)
	cmd.Flags().BoolVar(&keep, "keep", false, "leave the last lab up")
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
		if r.Suite, err = image.ParseSuite(suite); err != nil {
			return fmt.Errorf("read flags: --%w", err)
		}
		if len(args) > 0 {
			if r.Match, err = compileNames(args); err != nil {
				return fmt.Errorf("read arguments: %w", err)
			}
		}
		return runScenarios(cmd, open, r, keep)
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

func runScenarios(cmd *cobra.Command, open opener, r *scenario.Runner, keep bool) error {
	l, release, err := openReserved(open, cmd)
	if err != nil {
		return err
	}
	defer release()
	r.Lab = l
	if err := r.Lab.Prepare(cmd.Context(), r.Suite); err != nil {
		return err
	}
	r.Lab.Quiet()
	dir, err := os.MkdirTemp("", "holdfast-")
	if err != nil {
		return fmt.Errorf("build holdfast: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	if r.Binary, err = demo.Build(cmd.Context(), dir, "fault"); err != nil {
		return err
	}
	if r.Self, err = os.Executable(); err != nil {
		return fmt.Errorf("find own program: %w", err)
	}
	err = r.Run(cmd.Context())
	if keep {
		return err
	}
	if downErr := r.Lab.Down(cmd.Context(), false); downErr != nil && err == nil {
		return downErr
	}
	return err
}
