package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast/engine/event"
)

// parsedCommand returns a command with its arguments, and its flags in the order in which they were given.
func parsedCommand(cmd *cobra.Command, args []string) event.Command {
	root := cmd.Root()
	c := event.Command{Name: strings.TrimPrefix(cmd.CommandPath(), root.Name()+" "), Args: args}
	set := cmd.Flags()
	sorted := set.SortFlags
	set.SortFlags = false
	defer func() { set.SortFlags = sorted }()
	set.Visit(func(f *pflag.Flag) {
		flag := event.Flag{Name: f.Name, Short: f.Shorthand, Global: root.PersistentFlags().Lookup(f.Name) != nil}
		list, isList := f.Value.(pflag.SliceValue)
		switch {
		case isList:
			for _, flag.Value = range list.GetSlice() {
				c.Flags = append(c.Flags, flag)
			}
		case f.Value.Type() != "bool":
			flag.Value = f.Value.String()
			c.Flags = append(c.Flags, flag)
		case f.Value.String() == "true": // a switch that is off is not repeated
			flag.Switch = true
			c.Flags = append(c.Flags, flag)
		}
	})
	return c
}
