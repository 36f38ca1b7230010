package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/engine"
	"holdfast/engine/config"
	"holdfast/engine/filediff"
	"holdfast/engine/report/planview"
	"holdfast/engine/resource"
	"holdfast/engine/rules"
	"holdfast/engine/textutil"
	"holdfast/engine/web"
)

func (a *app) diffCommand() *cobra.Command {
	var explain bool
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Show the changes between two configurations, and the actions they need",
		Long: `diff compares two configurations, each a file or a folder of Butane, Ignition
and MachineConfig documents (docs/configs.md). It shows every change with its
rule, and the actions that make the changes take effect, in order. It needs no
inventory and no host.

Exit status: 0 nothing changes; 2 something changes; 1 a document is invalid,
or the change needs a new installation.`,
		Args: expectArgs(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.diffs && a.json {
				return errors.New("diff: --diff is for people; leave out --diff or --json")
			}
			return a.runDiff(cmd.Context(), args, explain)
		},
	}
	cmd.Flags().BoolVar(&a.diffs, "diff", false, "show contents of changed files line by line, of those that are not secret, binary or large")
	cmd.Flags().BoolVar(&explain, "explain", false, "show for each change which fields differ, and why its rule requires its actions")
	return cmd
}

func (a *app) runDiff(ctx context.Context, args []string, explain bool) error {
	was, errOld := a.loadConfig(ctx, args[0])
	is, errNew := a.loadConfig(ctx, args[1])
	if err := errors.Join(errOld, errNew); err != nil {
		return err
	}
	links := resource.StandardLinks()
	was = links.Respell(was, is)
	d, err := rules.Compare(was, is, rules.Policy{}.WithLinks(links))
	if err != nil {
		return err
	}
	if slices.ContainsFunc(d.Changes, func(c rules.Change) bool { return c.Kind == engine.KernelTypeKind }) {
		fmt.Fprintln(a.stderr, "holdfast: warning: holdfast does not exchange the kernel of an OS image: a change of the kernel type needs an OS image that has this kernel")
	}
	d = d.Explained(explain)
	if a.json {
		err = a.printJSON(d)
	} else {
		err = writeDiff(a.stdout, d)
	}
	if err == nil && a.diffs {
		err = planview.WriteContents(a.stdout, filediff.ConfigContents(was, is, d), a.outputStyle())
	}
	if err != nil || d.Equal() {
		return err
	}
	return exitWith(engine.ExitWork)
}

func (a *app) loadConfig(ctx context.Context, arg string) (resource.Config, error) {
	src := config.Source{FS: a.newInputs().FS("."), Paths: []string{filepath.ToSlash(filepath.Clean(arg))}}
	if !filepath.IsLocal(arg) {
		p, err := pathBelowRoot(arg)
		if err != nil {
			return resource.Config{}, err
		}
		src = config.Source{FS: a.newInputs().FS("/"), Root: "/", Paths: []string{p}}
	}
	src.Top = path.Dir(src.Paths[0])
	warn := func(w string) { fmt.Fprintln(a.stderr, "holdfast: warning:", w) }
	fetcher := web.NewFetcher(ctx, warn)
	fetcher.Wait = a.printNotice
	src.Fetch = fetcher.Fetch
	loaded, err := config.Load(src)
	for _, w := range loaded.Warnings {
		warn(w)
	}
	return loaded.Config, err
}

var marks = map[engine.Verb]string{engine.Create: "+", engine.Update: "~", engine.Delete: "-"}

func writeDiff(w io.Writer, d rules.Diff) error {
	if d.Equal() {
		_, err := fmt.Fprintln(w, "Nothing changes.")
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Changes\n")
	for _, c := range d.Changes {
		fmt.Fprintf(&b, "  %s %s %s\n      %s  (%s)\n", marks[c.Verb], c.Kind, printableLine(c.Name), actionList(c.Actions), printableLine(c.Rule))
		if c.Reason != "" {
			fmt.Fprintf(&b, "      %s\n", printableLine(c.Reason))
		}
	}
	fmt.Fprintf(&b, "\nActions, in this order\n")
	for i, x := range d.Actions {
		fmt.Fprintf(&b, "  %d. %s", i+1, x.Action.String())
		if len(x.Rules) > 0 {
			fmt.Fprintf(&b, "  (%s)", printableLine(strings.Join(x.Rules, ", ")))
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func printableLine(s string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(textutil.Printable(s))
}

func actionList(actions []engine.Action) string {
	names := make([]string, len(actions))
	for i, a := range actions {
		names[i] = a.String()
	}
	return strings.Join(names, ", ")
}
