// Package snapshot manages the saved snapshots of etcd clusters: it checks, saves and removes them.
package snapshot

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Retention selects the snapshots of a cluster to keep: the newest ones, up to Keep, unless they are older than MaxAge.
// The newest snapshot and the snapshots of unfinished runs are always kept.
type Retention struct {
	Keep   int
	MaxAge time.Duration
	Now    time.Time
	IsOver func(run string) bool
}

// Name returns the file name of a run's snapshot of a cluster.
func Name(run, cluster string) string { return run + infix + cluster + ending }

const (
	infix   = "-etcd-"
	ending  = ".db"
	partEnd = ".part"
)

// partAge is the age at which a partial file of a crashed run is removed.
const partAge = 24 * time.Hour

// runRule matches IDs of runs. A file without such an ID in its name is no
// snapshot.
var runRule = regexp.MustCompile(`^[0-9]{8}-[0-9]{6}-[0-9a-f]+$`)

// List returns the paths of the snapshots of a cluster that runs have saved in dir, the newest first.
func List(dir, cluster string) ([]string, error) {
	list, err := listSaved(dir, infix+cluster+ending)
	sortNewestFirst(list, time.Now())
	paths := make([]string, len(list))
	for i, f := range list {
		paths[i] = f.path
	}
	return paths, err
}

// savedFile is a snapshot, or a partial one, in a folder.
type savedFile struct {
	path string
	run  string
	at   time.Time
}

// Prune removes the snapshots of a cluster in dir that r does not keep, and returns their number. It removes only files
// with names as Name returns them.
func Prune(dir, cluster string, r Retention) (removed int, err error) {
	whole, err := listSaved(dir, infix+cluster+ending)
	if err != nil {
		return 0, err
	}
	parts, err := listSaved(dir, infix+cluster+ending+partEnd)
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, f := range append(r.expiredSnapshots(whole), r.staleParts(parts)...) {
		if err := os.Remove(f.path); err == nil {
			removed++
		} else if !errors.Is(err, fs.ErrNotExist) { // another run may remove the file at the same time
			errs = append(errs, err)
		}
	}
	return removed, errors.Join(errs...)
}

// maxAhead is how far in the future the time of a file may be. A clock was wrong when a file with a later time was made.
const maxAhead = 24 * time.Hour

// sortNewestFirst sorts files from new to old. Files from the future count as the oldest; otherwise they would push out all
// files that are made until then. Their age is not known, so only newer files push them out.
func sortNewestFirst(list []savedFile, now time.Time) {
	futureRank := func(f savedFile) int {
		if f.at.After(now.Add(maxAhead)) {
			return 1
		}
		return 0
	}
	slices.SortFunc(list, func(a, b savedFile) int {
		return cmp.Or(futureRank(a)-futureRank(b), b.at.Compare(a.at), strings.Compare(b.run, a.run))
	})
}

func (r Retention) expiredSnapshots(list []savedFile) []savedFile {
	sortNewestFirst(list, r.Now)
	var out []savedFile
	for i, f := range list {
		if i > 0 && (i >= r.Keep || r.Now.Sub(f.at) > r.MaxAge) && r.IsOver(f.run) {
			out = append(out, f)
		}
	}
	return out
}

func (r Retention) staleParts(list []savedFile) []savedFile {
	return slices.DeleteFunc(list, func(f savedFile) bool { return r.Now.Sub(f.at) <= partAge || !r.IsOver(f.run) })
}

// listSaved returns the files of runs in dir whose names end with end. A missing folder has no files.
func listSaved(dir, end string) ([]savedFile, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []savedFile
	for _, e := range entries {
		run, ok := strings.CutSuffix(e.Name(), end)
		if !ok || !runRule.MatchString(run) || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil { // an error means that the file was removed
			list = append(list, savedFile{path: filepath.Join(dir, e.Name()), run: run, at: info.ModTime()})
		}
	}
	return list, err
}
