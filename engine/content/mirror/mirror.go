// Package mirror fills the repository on the bastion from which hosts fetch their OS, with the ostree tool, and checks it.
package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// Update pulls the commits into the repository in a folder, and makes it if there is none.
// Signatures are fetched with the commits, and checked by the hosts. The output of ostree goes to out.
func Update(ctx context.Context, folder string, up Upstream, out io.Writer) error {
	tool, err := exec.LookPath("ostree")
	if err != nil {
		return errors.New("there is no ostree on this machine, which fetches the commits; install it, or copy a repository in archive mode to " + folder)
	}
	command := func(args ...string) *exec.Cmd {
		return exec.CommandContext(ctx, tool, append([]string{"--repo=" + folder}, args...)...)
	}
	run := func(args ...string) error {
		cmd := command(args...)
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("ostree %s: %w", args[0], err)
		}
		return nil
	}
	url, err := sourceURL(up.From)
	if err != nil {
		return err
	}
	if err := run("init", "--mode=archive"); err != nil {
		return err
	}
	if err := run("remote", "add", "--if-not-exists", "--no-gpg-verify", "--no-sign-verify", remoteName, url); err != nil {
		return err
	}
	if removeDamaged(ctx, folder, up.Wanted) {
		_ = command("fsck", "--delete").Run() // marks commits as partial, so that pull looks for what they lack, and then fails
	}
	for _, w := range up.Wanted {
		if w.Ref == "" {
			return fmt.Errorf("commit %s has no ref in its os block, so the mirror cannot keep it; add ref", w.Commit)
		}
		if err := run("pull", "--mirror", "--untrusted", "--url="+url, remoteName, w.Ref+"@"+w.Commit); err != nil {
			return err
		}
	}
	return run("summary", "--update")
}

// removeDamaged removes the damaged objects of commits, and reports whether commits are now incomplete.
func removeDamaged(ctx context.Context, folder string, wanted []Wanted) bool {
	all, err := Check(ctx, folder, wanted)
	if err != nil {
		return false // pull tells
	}
	incomplete := false
	for _, s := range all {
		for _, path := range s.Damaged {
			_ = os.Remove(filepath.Join(folder, path)) // the check after the pull tells
		}
		incomplete = incomplete || s.Objects > 1 && !s.IsComplete() // a commit that is not there is not incomplete
	}
	return incomplete
}

func sourceURL(from string) (string, error) {
	if strings.Contains(from, "://") {
		return from, nil
	}
	folder, err := filepath.Abs(from)
	return "file://" + folder, err
}
