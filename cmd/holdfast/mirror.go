package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/engine"
	"holdfast/engine/content/mirror"
	"holdfast/engine/report/termtext"
)

func (a *app) mirrorCommand() *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use:   "mirror",
		Short: "Check or fill the repository from which hosts fetch their OS",
		Args:  expectArgs(0, 0),
		Long: `mirror checks the repository of the mirror block: whether it has every object of
the commits that pools with source = "bastion" should run, and whether their
contents have their digests. It names those that are missing or damaged, and
then ends with 2.

With --from it first fetches these commits from a URL or a folder, with the
ostree tool of this machine, and makes the repository if there is none.
Signatures are fetched, too; the hosts check them.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.mirror(cmd.Context(), from) },
	}
	cmd.Flags().StringVar(&from, "from", "", "`URL` or folder of an ostree repository to fetch from")
	return cmd
}

func (a *app) mirror(ctx context.Context, from string) error {
	loaded, err := a.loadInventory()
	if err != nil {
		return err
	}
	if loaded.Inventory.Mirror == nil {
		return errors.New(`the site has no mirror; add mirror { repository = "FOLDER" } to the site block`)
	}
	folder, wanted := loaded.Inventory.Mirror.Repository, mirror.ListWanted(loaded.Inventory)
	if len(wanted) == 0 {
		return errors.New(`no pool fetches its OS from the bastion; add source = "bastion" to an os block`)
	}
	var all []mirror.CommitStatus
	if from != "" {
		all, err = mirror.Update(ctx, folder, mirror.Upstream{From: from, Wanted: wanted}, a.stderr)
	} else if all, err = mirror.Check(ctx, folder, wanted); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; holdfast mirror --from URL makes it", err)
	}
	if err != nil {
		return failWith(engine.ExitFailed, err)
	}
	return a.showMirror(folder, all)
}

func (a *app) showMirror(folder string, all []mirror.CommitStatus) error {
	code := engine.ExitOK
	for _, s := range all {
		if !s.IsComplete() {
			code = engine.ExitWork
		}
	}
	if a.json {
		if err := a.printJSON(all); err != nil {
			return err
		}
		return exitWith(code)
	}
	fmt.Fprintln(a.stdout, folder)
	for _, s := range all {
		state := "complete"
		if !s.IsComplete() {
			state = fmt.Sprintf("%d missing, %d damaged", len(s.Missing), len(s.Damaged))
		}
		fmt.Fprintf(a.stdout, "  %s %s: %s; %s, %s; for %s\n", engine.ShortDigest(s.Commit), s.Ref, state,
			termtext.FormatCount(s.Objects, "object", "objects"), termtext.FormatBytes(s.Bytes), strings.Join(s.Pools, ", "))
		a.listObjects("missing", s.Missing)
		a.listObjects("damaged", s.Damaged)
	}
	return exitWith(code)
}

// listObjects lists the first objects; --json has all of them.
func (a *app) listObjects(state string, paths []string) {
	const most = 10
	for i, p := range paths {
		if i == most && len(paths) > most+1 {
			fmt.Fprintf(a.stdout, "    and %d more %s\n", len(paths)-i, state)
			return
		}
		fmt.Fprintf(a.stdout, "    %s: %s\n", state, p)
	}
}
