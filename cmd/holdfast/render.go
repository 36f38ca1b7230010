package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"holdfast/engine"
	"holdfast/engine/desired"
	"holdfast/engine/hostpattern"
	"holdfast/engine/resource"
	"holdfast/engine/textutil"
	"holdfast/modules/hostconfig/record"
)

func (a *app) renderCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "render HOST",
		Short: "Print a host's merged Ignition config, to provision it with",
		Long: `render merges the configurations of one host, and prints them as one Ignition
config, to provision a new machine with it. The config embeds contents from
elsewhere, and the record of the applied configuration. So a host that was
provisioned with it has nothing to change.

It contains secrets. Standard error names the parts of the configuration that
Ignition cannot express.`,
		Args: expectArgs(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runRender(cmd.Context(), args[0]) },
	}
}

func (a *app) runRender(ctx context.Context, name string) error {
	site, err := a.loadInventory()
	if err != nil {
		return err
	}
	host, err := oneHost(site.Inventory, name)
	if err != nil {
		return err
	}
	c := a.newConfigs(ctx, site)
	loaded, err := c.HostConfig(host)
	if err != nil {
		return err
	}
	compact, _ := loaded.Config.Compact()
	mode := 0o600
	text, err := loaded.Ignition(resource.File{Path: record.Path, Contents: record.Initial(compact), Mode: &mode})
	if err != nil {
		return err
	}
	for _, w := range append(c.Warnings, desired.IgnitionGaps(loaded.Config)...) {
		fmt.Fprintln(a.stderr, "holdfast: warning:", w)
	}
	if term.IsTerminal(int(a.stdout.Fd())) {
		fmt.Fprintln(a.stderr, "holdfast: this holds secrets; write it to a file that only you can read")
	}
	_, err = a.stdout.Write(text)
	return err
}

func oneHost(inv engine.Inventory, name string) (engine.Host, error) {
	match, err := hostpattern.Parse(name, inv)
	if err != nil {
		return engine.Host{}, err
	}
	var found []engine.Host
	var names []string
	for _, h := range inv.Hosts {
		if match(h) {
			found, names = append(found, h), append(names, h.Name)
		}
	}
	if len(found) != 1 {
		return engine.Host{}, fmt.Errorf("%s is %d hosts (%s); render takes one", name, len(found), strings.Join(textutil.FoldNames(names), " "))
	}
	return found[0], nil
}
