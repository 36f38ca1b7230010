package main

import (
	"regexp"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestNamesAreCompleted: each argument and flag that is a host, a cluster or a run has a completion.
func TestNamesAreCompleted(t *testing.T) {
	named := regexp.MustCompile(`\b(HOST|CLUSTER|RUN)\b`)
	count := 0
	var check func(*cobra.Command)
	check = func(cmd *cobra.Command) {
		if named.MatchString(cmd.Use) {
			count++
			if cmd.ValidArgsFunction == nil {
				t.Errorf("%s: no completion of its arguments", cmd.CommandPath())
			}
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if value, _ := pflag.UnquoteUsage(f); !named.MatchString(value) {
				return
			}
			count++
			if _, found := cmd.GetFlagCompletionFunc(f.Name); !found {
				t.Errorf("%s --%s: no completion", cmd.CommandPath(), f.Name)
			}
		})
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check((&app{}).rootCommand())
	if count < 15 {
		t.Errorf("only %d arguments and flags were found", count)
	}
}
