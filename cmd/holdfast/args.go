package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// noArgs refuses arguments of commands that choose hosts with --limit.
func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%q is one word too many; hosts are chosen with --limit", args[0])
	}
	return nil
}

// count asks for as many arguments as the command's usage names; most is -1
// where any number will do.
func count(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if n := len(args); n < least || most >= 0 && n > most {
			return fmt.Errorf("usage: %s", strings.TrimSuffix(cmd.UseLine(), " [flags]"))
		}
		return nil
	}
}

// group makes a command that has others below it show its help, and refuse
// those it does not have.
func group(cmd *cobra.Command) {
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
