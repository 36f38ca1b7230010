// Package mirror fills the repository on the bastion from which hosts fetch their OS, with the ostree tool, and checks it.
package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"holdfast/engine"
	"holdfast/engine/content/archive"
)

// Wanted is a commit that the repository should have.
type Wanted struct {
	Ref    string   `json:"ref,omitempty"` // branch of the commit
	Commit string   `json:"commit"`        // ostree commit
	Pools  []string `json:"pools"`         // pools with this OS
}

// ListWanted lists the commits that pools fetch from the bastion, in the order of the inventory.
func ListWanted(inv engine.Inventory) []Wanted {
	var all []Wanted
	index := map[string]int{}
	for _, p := range inv.Pools {
		if p.OS == nil || p.OS.Source != engine.BastionSource {
			continue
		}
		key := p.OS.Ref + "@" + p.OS.Commit
		if _, ok := index[key]; !ok {
			index[key] = len(all)
			all = append(all, Wanted{Ref: p.OS.Ref, Commit: p.OS.Commit})
		}
		w := &all[index[key]]
		w.Pools = append(w.Pools, p.Name)
	}
	return all
}

// CommitStatus is the result of a check of one commit in the mirror.
type CommitStatus struct {
	Wanted
	Objects int      `json:"objects"`           // objects of the commit, as far as they are known
	Bytes   int64    `json:"bytes"`             // size of the objects that are there
	Missing []string `json:"missing,omitempty"` // paths of objects that are not there
	Damaged []string `json:"damaged,omitempty"` // paths of objects whose contents do not have their digest
}

// IsComplete reports whether hosts can fetch the commit.
func (s CommitStatus) IsComplete() bool { return len(s.Missing)+len(s.Damaged) == 0 }

// Check reads every object of the commits, and compares its contents with its digest.
func Check(ctx context.Context, folder string, wanted []Wanted) ([]CommitStatus, error) {
	repository, err := archive.Open(folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = repository.Close() }() // read only
	var all []CommitStatus
	for _, w := range wanted {
		report, err := repository.Check(ctx, w.Commit, true)
		if err != nil {
			return nil, fmt.Errorf("check commit %s: %w", w.Commit, err)
		}
		all = append(all, CommitStatus{Wanted: w, Objects: report.Objects, Bytes: report.Bytes, Missing: paths(report.Missing), Damaged: paths(report.Damaged)})
	}
	return all, nil
}

func paths(objects []archive.Object) []string {
	var all []string
	for _, o := range objects {
		all = append(all, o.Path())
	}
	return all
}

// remoteName is the remote in the repository of the mirror. Its URL is the one that is given with each pull.
const remoteName = "mirror"

// Upstream is a repository from which commits are pulled.
type Upstream struct {
	From   string // a URL, or a folder with a repository
	Wanted []Wanted
}

// Update pulls the commits into the repository in a folder, makes it if there is none, and checks the commits. It fetches again
// what is missing or damaged although ostree had it. Signatures are fetched with the commits, and checked by the hosts. The
// output of ostree goes to out.
func Update(ctx context.Context, folder string, up Upstream, out io.Writer) ([]CommitStatus, error) {
	for _, w := range up.Wanted {
		if w.Ref == "" {
			return nil, fmt.Errorf("commit %s has no ref in its os block, so the mirror cannot keep it; add ref", w.Commit)
		}
	}
	tool, err := exec.LookPath("ostree")
	if err != nil {
		return nil, errors.New("there is no ostree on this machine, which fetches the commits; install it, or copy a repository in archive mode to " + folder)
	}
	url, err := sourceURL(up.From)
	if err != nil {
		return nil, err
	}
	r := repository{tool: tool, folder: folder, out: out}
	if err := r.run(ctx, "init", "--mode=archive"); err != nil {
		return nil, err
	}
	if err := r.run(ctx, "remote", "add", "--if-not-exists", "--no-gpg-verify", "--no-sign-verify", remoteName, url); err != nil {
		return nil, err
	}
	pullErr := r.pullCommits(ctx, url, up.Wanted) // a damaged object may be the reason
	all, err := Check(ctx, folder, up.Wanted)
	if err != nil {
		return nil, errors.Join(pullErr, err)
	}
	repaired, err := forgetDamaged(folder, all)
	if err != nil {
		return nil, errors.Join(pullErr, err)
	}
	if !repaired {
		return all, pullErr
	}
	if err := r.pullCommits(ctx, url, up.Wanted); err != nil {
		return nil, err
	}
	return Check(ctx, folder, up.Wanted)
}

// repository runs the ostree tool on a repository.
type repository struct {
	tool, folder string
	out          io.Writer
}

func (r repository) run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, r.tool, append([]string{"--repo=" + r.folder}, args...)...)
	cmd.Stdout, cmd.Stderr = r.out, r.out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("ostree %s: %w", args[0], err)
	}
	return nil
}

func (r repository) pullCommits(ctx context.Context, url string, wanted []Wanted) error {
	for _, w := range wanted {
		if err := r.run(ctx, "pull", "--mirror", "--untrusted", "--url="+url, remoteName, w.Ref+"@"+w.Commit); err != nil {
			return err
		}
	}
	return r.run(ctx, "summary", "--update")
}

// forgetDamaged removes damaged objects, and marks commits that lack objects as partial, as ostree does with those that it has
// not fetched to the end: a pull looks only into these for what they lack. It reports whether it found any.
func forgetDamaged(folder string, all []CommitStatus) (found bool, err error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return false, fmt.Errorf("repair the repository: %w", err)
	}
	defer func() { _ = root.Close() }() // it holds no data
	for _, s := range all {
		if s.IsComplete() || s.Objects <= 1 && len(s.Damaged) == 0 { // a commit that is not there is not incomplete
			continue
		}
		found = true
		for _, path := range s.Damaged {
			if removeErr := root.Remove(path); !errors.Is(removeErr, fs.ErrNotExist) { // two commits may share it
				err = errors.Join(err, removeErr)
			}
		}
		partial, openErr := root.Create("state/" + s.Commit + ".commitpartial")
		if err = errors.Join(err, openErr); openErr == nil {
			err = errors.Join(err, partial.Close())
		}
	}
	if err != nil {
		return false, fmt.Errorf("repair the repository: %w", err)
	}
	return found, nil
}

func sourceURL(from string) (string, error) {
	if strings.Contains(from, "://") {
		return from, nil
	}
	folder, err := filepath.Abs(from)
	return "file://" + folder, err
}
