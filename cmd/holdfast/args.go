package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// checkFlags refuses flags with an empty value. An empty --limit, for one, is a
// mistake and would select all hosts.
func (a *app) checkFlags(cmd *cobra.Command) error {
	var problems []error
	cmd.Flags().Visit(func(f *pflag.Flag) {
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
		return fmt.Errorf("%q is one word too many; hosts are chosen with --limit", args[0])
	}
	return nil
}

// expectArgs checks the number of arguments. most is -1 if there is no upper
// limit.
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
		var names []string
		for _, c := range cmd.Commands() {
			names = append(names, c.Name())
		}
		return fmt.Errorf("there is no command %q below %s; there are %s", args[0], cmd.CommandPath(), strings.Join(names, ", "))
	}
}
