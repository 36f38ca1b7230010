package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/engine"
	"holdfast/engine/hostpattern"
	"holdfast/engine/playbook"
	"holdfast/engine/rollout"
	"holdfast/modules/tasks"
)

// playbookFlags are the flags of commands that accept a playbook.
type playbookFlags struct {
	tags, skipTags []string
	file           string // "": no playbook
}

func (f *playbookFlags) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.tags, "tags", nil, "of a playbook, only plays and tasks with one of these `TAGS`")
	cmd.Flags().StringSliceVar(&f.skipTags, "skip-tags", nil, "of a playbook, no plays and tasks with one of these `TAGS`")
}

func (f *playbookFlags) parseArgs(args []string) error {
	switch {
	case len(args) > 1:
		return fmt.Errorf("unexpected argument %q: a command accepts one playbook; select hosts with --limit", args[1])
	case len(args) == 1:
		f.file = args[0]
	case len(f.tags) > 0 || len(f.skipTags) > 0:
		return fmt.Errorf("--tags and --skip-tags select tasks of a playbook; name the playbook")
	}
	return nil
}

func (o *siteOpener) playbookVariables(f playbookFlags) []string {
	rooted, err := pathBelowRoot(f.file)
	if f.file == "" || err != nil {
		return nil
	}
	return playbook.Variables(o.newInputs().FS("/"), rooted)
}

func (o *siteOpener) readPlays(s *site, f playbookFlags) error {
	if f.file == "" {
		return nil
	}
	file, err := pathBelowRoot(f.file)
	if err != nil {
		return err
	}
	opts := playbook.Options{Name: f.file, Hosts: s.inv.Hosts, Tags: f.tags, SkipTags: f.skipTags, Vars: map[string]string{}}
	for _, v := range o.vars {
		if name, value, ok := strings.Cut(v, "="); ok && slices.Contains(o.otherVars, name) {
			opts.Vars[name] = value
		}
	}
	book, err := playbook.Load(o.newInputs().FS("/"), file, opts)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; hosts are chosen with --limit", err)
	}
	if err != nil {
		return err
	}
	for _, p := range book.Plays {
		selected, err := hostpattern.Parse(p.Hosts, s.inv)
		if err != nil {
			return fmt.Errorf("%s:%d: hosts: %w", f.file, p.Line, err)
		}
		p = tasks.SkipNonMembers(p, s.inv)
		s.run.Plays = append(s.run.Plays, rollout.Play{
			Play: p, Modules: tasks.ForPlay(p),
			Selected: func(h engine.Host) bool { return selected(h) && s.selectFn(h) },
		})
	}
	if o.limit != "" && s.selectFn != nil && !slices.ContainsFunc(s.run.Plays, func(p rollout.Play) bool { return slices.ContainsFunc(s.inv.Hosts, p.Selected) }) {
		return fmt.Errorf("%s: none of its plays is for a host within --limit %s", f.file, o.limit) // without this error the run would do nothing and succeed
	}
	return nil
}
