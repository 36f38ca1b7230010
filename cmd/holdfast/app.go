package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast/engine"
)

// app has everything that commands share.
type app struct {
	siteOpener
	gently  func(shown bool) // after it, the first Ctrl-C ends only soft; shown: without a message, because the command shows it
	verbose bool
	diffs   bool // show the contents of files
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "holdfast",
		Short: "Keep ostree-based hosts in their desired state without costing etcd its quorum",
		Long: `holdfast reads an inventory of hosts and their desired state, gathers facts of
the hosts over SSH, plans the least disruptive way to make them match, and changes
them in batches that never cost an etcd cluster its quorum.

Exit status:
` + listExitCodes(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       readBuild().String(),

		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			a.command = parsedCommand(cmd, args)
			return a.checkFlags(cmd)
		},
	}
	f := root.PersistentFlags()
	f.StringArrayVarP(&a.inventory, "inventory", "i", defaultInventory(), "inventory: file or folder `PATH` (repeatable; default $HOLDFAST_INVENTORY, else inventory.hcl)")
	f.Lookup("inventory").DefValue = "[]" // the usage text names the default
	f.StringArrayVar(&a.vars, "var", nil, "set a variable of the inventory: `NAME=VALUE` (repeatable)")
	f.StringArrayVar(&a.varFiles, "var-file", nil, "`FILE` of NAME = VALUE lines (repeatable)")
	f.StringVarP(&a.limit, "limit", "l", "", "hosts to work on, as an Ansible `PATTERN`: worker*:!worker-03:&zone=rack-a")
	f.StringVar(&a.runsDir, "runs", os.Getenv("HOLDFAST_RUNS"), "`FOLDER` of journals, snapshots and locks (default: runs beside the inventory, or $HOLDFAST_RUNS)")
	f.IntVarP(&a.forks, "forks", "f", 0, "number `N` of hosts at the same time (default 64, and 8 for staging)")
	f.BoolVar(&a.json, "json", false, "print JSON instead of text (docs/json.md)")
	f.BoolVarP(&a.askPass, "ask-become-pass", "K", false, "ask for the sudo password on the terminal")
	f.BoolVarP(&a.verbose, "verbose", "v", false, "show every step, its command and its timeout")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(initCommand(&a.siteOpener), a.validateCommand(), a.planCommand(), a.applyCommand(), a.statusCommand(),
		a.holdCommand(), a.releaseCommand(), a.holdsCommand(), powerCommand(a), a.etcdCommand(), a.mirrorCommand(), a.runsCommand(), a.reportCommand(), a.diffCommand(), a.renderCommand(), a.versionCommand())
	addCompletions(root, &a.siteOpener)
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			cmd.Args = cobra.ArbitraryArgs
			requireSubcommand(cmd)
		case "help":
			cmd.Run, cmd.RunE = nil, showHelp
		}
	}
	return root
}

// showHelp shows the help of the command that the arguments name. Unlike the default of cobra, it refuses other names.
func showHelp(cmd *cobra.Command, args []string) error {
	of, rest, err := cmd.Root().Find(args)
	switch {
	case err != nil:
		return err
	case len(rest) > 0 && of.HasSubCommands():
		return unknownSubcommand(of, rest[0])
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	}
	of.InitDefaultHelpFlag()
	return of.Help()
}

func listExitCodes() string {
	var list strings.Builder
	for _, c := range engine.ExitCodes() {
		fmt.Fprintf(&list, "  %d  %s\n", c, c.Meaning())
	}
	return strings.TrimSuffix(list.String(), "\n")
}

func defaultInventory() []string {
	if path := os.Getenv("HOLDFAST_INVENTORY"); path != "" {
		return []string{path}
	}
	return []string{"inventory.hcl"}
}

// checkFlags refuses empty values, as an empty --limit is a mistake that would select all hosts. It also refuses
// global flags that have no effect on the command.
func (a *app) checkFlags(cmd *cobra.Command) error {
	var problems []error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err := checkUsed(cmd, f.Name); err != nil {
			problems = append(problems, err)
		}
		if hasEmpty(f.Value) {
			what, _ := pflag.UnquoteUsage(f)
			if !strings.Contains(f.Usage, "`") {
				what = "one"
			} else if f.Value.Type() != "stringSlice" {
				what = "a " + what
			}
			problems = append(problems, fmt.Errorf("--%s has an empty value; give it %s, or leave it out", f.Name, what))
		}
	})
	if cmd.Flags().Changed("forks") && a.forks < 1 {
		problems = append(problems, fmt.Errorf("--forks is %d; at least one host is worked on at a time", a.forks))
	}
	return errors.Join(problems...)
}

func hasEmpty(v pflag.Value) bool {
	if list, ok := v.(pflag.SliceValue); ok {
		return len(list.GetSlice()) == 0 || slices.Contains(list.GetSlice(), "")
	}
	return v.String() == ""
}

func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q; select hosts with --limit", args[0])
	}
	return nil
}

// expectArgs has no upper limit if most is -1.
func expectArgs(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if n := len(args); n < least || most >= 0 && n > most {
			return fmt.Errorf("usage: %s", strings.TrimSuffix(cmd.UseLine(), " [flags]"))
		}
		return nil
	}
}

func requireSubcommand(cmd *cobra.Command) {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknownSubcommand(cmd, args[0])
	}
}

func unknownSubcommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	return fmt.Errorf("there is no command %q below %s; there are %s", name, cmd.CommandPath(), strings.Join(names, ", "))
}
