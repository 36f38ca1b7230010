package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"holdfast/engine/bastion"
	"holdfast/engine/event"
	"holdfast/engine/journal"
	"holdfast/engine/privatefile"
	"holdfast/engine/report/htmlview"
	"holdfast/engine/textutil"
)

func (a *app) reportCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Write an HTML page about a run: timeline, etcd, changes, failures",
		Long: `report writes one HTML file about a run of this bastion, from its journal. RUN is the ID of
the run or the beginning of its ID; holdfast runs lists them. The file needs no network and no
script, and opens in any browser: what failed and what to do, a timeline of the hosts, etcd's
health and disk latency, changes with the rule behind each, gates and warnings.

It also works for a run that was killed, for one that is under way, and for etcd members apply
and etcd restore. A new file can be read only by you; a file that exists is replaced, and keeps
its mode if it is yours. docs/reports.md describes the page.`,
		Args: expectArgs(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if a.json {
				return errors.New("report: the report is HTML; holdfast runs RUN --json prints the events of a run")
			}
			dir, err := a.runsFolder()
			if err != nil {
				return err
			}
			return pageWriter{a.console, dir, out}.writeReport(args[0])
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "write the page to `FILE`, or to standard output if it is - (default RUN.html in the current folder)")
	return cmd
}

// pageWriter writes the page of a run.
type pageWriter struct {
	console
	dir string // folder of the journals
	out string // "": RUN.html; "-": standard output
}

func (p pageWriter) writeReport(name string) error {
	id, err := journal.FindRun(p.dir, name)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	out := cmp.Or(p.out, id+".html")
	if out != "-" {
		if err := checkFolder("out", out); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	view := htmlview.New()
	state, err := journal.Inspect(p.dir, id, bastion.StateDir(), func(e event.Event) error {
		view.AddEvent(e)
		return nil
	})
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	var page bytes.Buffer
	if err := view.WritePage(&page, htmlview.Journal(state)); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if state.Problem != "" {
		fmt.Fprintln(p.stderr, "holdfast: the report has only a part of the run:", textutil.Printable(state.Problem))
	}
	if out == "-" {
		_, err := page.WriteTo(p.stdout)
		return err
	}
	if err := privatefile.Replace(out, page.Bytes()); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	fmt.Fprintln(p.stdout, "wrote", textutil.Printable(out))
	return nil
}

// checkFolder reports why the file that a flag names cannot be written, before anything else is done.
func checkFolder(flag, file string) error {
	dir := filepath.Dir(file)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("cannot write %s: there is no folder %s; make it, or name another one with --%s", file, dir, flag)
	case err != nil:
		return fmt.Errorf("cannot write %s: %w", file, err)
	case !info.IsDir():
		return fmt.Errorf("cannot write %s: %s is not a folder; name another one with --%s", file, dir, flag)
	case unix.Access(dir, unix.W_OK|unix.X_OK) != nil:
		return fmt.Errorf("cannot write %s: you may not write to the folder %s; name another one with --%s", file, dir, flag)
	}
	return nil
}
