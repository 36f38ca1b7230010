package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// unusedFlags are global flags that would have no effect on some commands. They are
// refused there: somebody who gives --limit expects that other hosts are left alone.
// The other global flags are accepted everywhere, because an alias may have them: they only
// decide which inventory is read and how, how hosts are reached, where journals are, or how
// much is shown.
var unusedFlags = []struct {
	flag     string
	commands []string
	reason   string
}{
	{"limit", []string{"etcd members plan", "etcd members apply", "etcd restore"}, "the steps are for the whole cluster"},
	{"limit", []string{"etcd snapshot", "etcd endpoints"}, "the command is about a whole cluster"},
	{"limit", []string{"mirror"}, "the command is about the OS of all pools"},
	{"limit", []string{"runs", "runs prune", "report"}, "the command is about whole runs"},
	{"limit", []string{"render"}, "HOST names the host"},
	{"limit", []string{"init"}, "the command writes an inventory and reads none"},
	{"limit", []string{"diff", "version", "completion"}, "the command reads no inventory"},
	{"json", []string{"completion"}, "the output is a script for a shell"},
}

// checkUsed returns an error if a global flag has no effect on the command.
func checkUsed(cmd *cobra.Command, flag string) error {
	name := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
	family, _, _ := strings.Cut(name, " ")
	for _, u := range unusedFlags {
		if u.flag == flag && (slices.Contains(u.commands, name) || family == "completion" && slices.Contains(u.commands, family)) {
			return fmt.Errorf("%s: %s; leave --%s out", name, u.reason, flag)
		}
	}
	return nil
}
