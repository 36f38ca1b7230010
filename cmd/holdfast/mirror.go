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
		Short: "Check or fill the mirror from which hosts fetch their OS",
		Args:  expectArgs(0, 0),
		Long: `mirror checks the repository and the image layout of the mirror block: whether
they have every object of the commits and images that pools with
source = "bastion" should run, and whether their contents have their digests. It
names those that are missing or damaged, and then ends with 2. It also shows
whether the mirror has signatures of them; this does not change the exit status.

With --from it first fetches the commits or the images, and makes the folder if
there is none. Commits come from the URL or the folder of an ostree repository,
with the ostree tool of this machine; images from docker:// (the registry of
their own name), docker://NAME, or the folder of another image layout. Parts
that are there are not fetched again. Signatures are fetched, too; the hosts
check them.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runMirror(cmd.Context(), from) },
	}
	cmd.Flags().StringVar(&from, "from", "", "`URL` or folder to fetch from")
	return cmd
}

func (a *app) runMirror(ctx context.Context, from string) error {
	loaded, err := a.loadInventory()
	if err != nil {
		return err
	}
	if loaded.Inventory.Mirror == nil {
		return errors.New(`the site has no mirror; add a mirror block to the site block`)
	}
	m, wanted := *loaded.Inventory.Mirror, mirror.ListWanted(loaded.Inventory)
	if len(wanted) == 0 {
		return errors.New(`no pool fetches its OS from the bastion; add source = "bastion" to an os block`)
	}
	var all []mirror.ContentStatus
	if from != "" {
		all, err = mirror.Update(ctx, m, mirror.Upstream{From: from, Wanted: wanted}, a.stderr)
	} else if all, err = mirror.Check(ctx, m, wanted); errors.Is(err, fs.ErrNotExist) {
		return failWith(engine.ExitWork, fmt.Errorf("%w; holdfast mirror --from URL makes it, with images from docker://", err))
	}
	if err != nil {
		return failWith(engine.ExitFailed, err)
	}
	return a.showMirror(m, all)
}

func (a *app) showMirror(m engine.Mirror, all []mirror.ContentStatus) error {
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
	shown := ""
	for _, s := range all {
		folder, name, unit := m.Repository, engine.ShortDigest(s.Commit)+" "+s.Ref, "object"
		if s.Image != "" {
			folder, name, unit = m.Layout, s.Image, "blob"
		}
		if folder != shown {
			fmt.Fprintln(a.stdout, folder)
			shown = folder
		}
		state := "complete"
		if !s.IsComplete() {
			state = fmt.Sprintf("%d missing, %d damaged", len(s.Missing), len(s.Damaged))
		}
		switch {
		case s.Signed:
			state += ", with signatures"
		case s.IsComplete():
			state += ", without signatures"
		}
		fmt.Fprintf(a.stdout, "  %s: %s; %s, %s; for %s\n", name, state,
			termtext.FormatCount(s.Objects, unit, unit+"s"), termtext.FormatBytes(s.Bytes), strings.Join(s.Pools, ", "))
		for _, line := range s.ListFaults("    ") {
			fmt.Fprintln(a.stdout, line)
		}
	}
	return exitWith(code)
}
