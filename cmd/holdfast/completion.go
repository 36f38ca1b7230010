package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast/engine"
	"holdfast/engine/bastion"
	"holdfast/engine/inventory"
	"holdfast/engine/journal"
	"holdfast/engine/textutil"
)

// completer completes names from the inventory and the journals for a shell. It
// connects to no host. It passes errors of the inventory and the journals over,
// because a shell has no place for an error.
type completer struct{ *siteOpener }

// completion completes an argument of a command: args are the arguments before it,
// and begun is its beginning.
type completion = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective)

func addCompletions(root *cobra.Command, o *siteOpener) {
	c := completer{o}
	for path, complete := range map[string]completion{
		"hold": c.completeHosts, "release": c.completeHosts, "render": upTo(1, c.completeHosts),
		"power status": c.completeHosts, "power on": c.completeHosts, "power off": c.completeHosts, "power reset": c.completeHosts,
		"report": upTo(1, c.completeRuns), "runs": upTo(1, c.completeRuns),
		"etcd status": c.completeClusters, "etcd endpoints": upTo(1, c.completeClusters),
		"etcd snapshot": thenFiles(c.completeClusters), "etcd restore": thenFiles(c.completeClusters),
		"etcd members plan": upTo(1, c.completeClusters), "etcd members apply": upTo(1, c.completeClusters),
		"apply": completePlaybooks, "plan": completePlaybooks, "validate": completePlaybooks,
		"status": completeNothing, "holds": completeNothing, "mirror": completeNothing, "version": completeNothing, "runs prune": completeNothing,
	} {
		cmd, _, err := root.Find(strings.Fields(path))
		if err != nil {
			panic(err) // the names above are those of commands
		}
		cmd.ValidArgsFunction = complete
		for _, name := range []string{"repair-member", "from", "lost"} {
			if f := cmd.Flags().Lookup(name); f != nil && namesHost(f) {
				must(cmd.RegisterFlagCompletionFunc(name, c.completeHostFlag))
			}
		}
		if cmd.Flags().Lookup("on-held") != nil {
			must(cmd.RegisterFlagCompletionFunc("on-held", cobra.FixedCompletions([]string{"skip", "refuse"}, cobra.ShellCompDirectiveNoFileComp)))
		}
		if cmd.Flags().Lookup("metrics") != nil {
			must(cmd.RegisterFlagCompletionFunc("metrics", cobra.FixedCompletions([]string{"prom"}, cobra.ShellCompDirectiveFilterFileExt)))
		}
	}
	must(root.RegisterFlagCompletionFunc("limit", c.completePattern))
	must(root.RegisterFlagCompletionFunc("runs", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)))
}

// namesHost reports whether the value of a flag is the name of a host, or of a host or its member.
func namesHost(f *pflag.Flag) bool {
	value, _ := pflag.UnquoteUsage(f)
	return value == "HOST" || value == "NAME"
}

// must ends the program after a mistake in its own list of flags.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func completeNothing(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

func completePlaybooks(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

// upTo completes the first n arguments.
func upTo(n int, complete completion) completion {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= n {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, begun)
	}
}

// thenFiles completes the first argument, and lets the shell complete files after it.
func thenFiles(complete completion) completion {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return complete(cmd, args, begun)
	}
}

func (c completer) readInventory() engine.Inventory {
	loaded, _ := c.loadInventory() // with an error, such as a variable without a value, it has the names that are known
	return hideNames(loaded)
}

// hideNames drops everything whose name has a sensitive value: a shell shows names on
// the terminal.
func hideNames(loaded inventory.Loaded) engine.Inventory {
	secrets := textutil.NewSecrets(loaded.Sensitive)
	shows := func(name string) bool { return secrets.Hide(name) == name }
	inv := loaded.Inventory
	inv.Hosts = slices.DeleteFunc(slices.Clone(inv.Hosts), func(h engine.Host) bool { return !shows(h.Name + " " + h.Pool + " " + h.Zone) })
	inv.Clusters = slices.DeleteFunc(slices.Clone(inv.Clusters), func(c engine.Cluster) bool { return !shows(c.Name) })
	return inv
}

func (c completer) completeHosts(_ *cobra.Command, args []string, begun string) (names []string, _ cobra.ShellCompDirective) {
	for _, h := range c.readInventory().Hosts {
		if strings.HasPrefix(h.Name, begun) && !slices.Contains(args, h.Name) {
			names = append(names, cobra.CompletionWithDesc(h.Name, "pool "+h.Pool))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeHostFlag completes the value of a flag: the arguments of the command are no hosts.
func (c completer) completeHostFlag(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	return c.completeHosts(cmd, nil, begun)
}

func (c completer) completeClusters(_ *cobra.Command, args []string, begun string) (names []string, _ cobra.ShellCompDirective) {
	for _, x := range c.readInventory().Clusters {
		if strings.HasPrefix(x.Name, begun) && !slices.Contains(args, x.Name) {
			names = append(names, cobra.CompletionWithDesc(x.Name, "etcd cluster"))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completePattern completes the last term of a host pattern.
func (c completer) completePattern(_ *cobra.Command, _ []string, begun string) (patterns []string, _ cobra.ShellCompDirective) {
	term := begun[strings.LastIndexAny(begun, ",:")+1:]
	term = strings.TrimLeft(term, "&!")
	before := strings.TrimSuffix(begun, term)
	for _, t := range listTerms(c.readInventory()) {
		if name, about, _ := strings.Cut(t, "\t"); strings.HasPrefix(name, term) {
			patterns = append(patterns, cobra.CompletionWithDesc(before+name, about))
		}
	}
	return patterns, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// listTerms returns the terms of host patterns, each with its meaning after a tab.
func listTerms(inv engine.Inventory) (terms []string) {
	seen := map[string]bool{}
	add := func(name, about string) {
		if !seen[name] {
			seen[name] = true
			terms = append(terms, name+"\t"+about)
		}
	}
	add("all", "every host")
	for _, h := range inv.Hosts {
		add(h.Pool, "pool")
		if h.Zone != "" {
			add("zone="+h.Zone, "zone")
		}
		if h.Cluster != "" {
			add("cluster="+h.Cluster, "etcd cluster")
		}
	}
	for _, h := range inv.Hosts {
		add(h.Name, "pool "+h.Pool)
	}
	return terms
}

func (c completer) completeRuns(_ *cobra.Command, _ []string, begun string) (ids []string, _ cobra.ShellCompDirective) {
	dir, err := c.runsFolder()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	runs, err := journal.ListRuns(dir)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	journal.MarkUnderWay(runs, bastion.StateDir())
	for _, r := range runs {
		if !strings.HasPrefix(r.ID, begun) {
			continue
		}
		about := "did not end"
		switch {
		case r.End != nil:
			about = fmt.Sprintf("exit %d", r.End.Exit)
		case r.UnderWay:
			about = "under way"
		}
		ids = append(ids, cobra.CompletionWithDesc(r.ID, about))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
