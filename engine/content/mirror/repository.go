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
	"holdfast/engine/textutil"
)

// remoteName is the remote in the repository of the mirror. Each pull sets its URL.
const remoteName = "mirror"

func updateCommits(ctx context.Context, m engine.Mirror, up Upstream, out io.Writer) ([]ContentStatus, error) {
	folder := m.Repository
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
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil { // ostree makes only the last folder of the path
		return nil, err
	}
	r := repository{tool: tool, folder: folder, out: out}
	if err := r.runOSTree(ctx, "init", "--mode=archive"); err != nil {
		return nil, err
	}
	if err := r.runOSTree(ctx, "remote", "add", "--if-not-exists", "--no-gpg-verify", "--no-sign-verify", remoteName, url); err != nil {
		return nil, err
	}
	pullErr := r.pullCommits(ctx, url, up.Wanted) // a pull may fail because of a damaged object
	all, err := Check(ctx, m, up.Wanted)
	if err != nil {
		return nil, errors.Join(pullErr, err)
	}
	repaired, err := forgetDamaged(folder, all)
	if err != nil {
		return nil, errors.Join(pullErr, err)
	}
	if !repaired {
		return all, errors.Join(pullErr, checkSource(ctx, up, pullErr))
	}
	if err := r.pullCommits(ctx, url, up.Wanted); err != nil {
		return nil, errors.Join(err, checkSource(ctx, up, err))
	}
	return Check(ctx, m, up.Wanted)
}

// checkSource returns an error with the objects that a folder lacks or that are damaged there, after a failed pull:
// ostree names only the first of them. It checks folders in archive mode only.
func checkSource(ctx context.Context, up Upstream, pullErr error) error {
	if pullErr == nil || strings.Contains(up.From, "://") {
		return nil
	}
	all, err := Check(ctx, engine.Mirror{Repository: up.From}, up.Wanted)
	if err != nil {
		return nil // it is not a repository that can be checked, and the pull said why it failed
	}
	var errs []error
	for _, s := range all {
		if !s.IsComplete() {
			errs = append(errs, fmt.Errorf("%s does not have all of %s %s:\n%s", up.From, engine.ShortDigest(s.Commit), s.Ref, strings.Join(s.ListFaults("  "), "\n")))
		}
	}
	return errors.Join(errs...)
}

// repository runs the ostree tool on a repository.
type repository struct {
	tool, folder string
	out          io.Writer
}

func (r repository) runOSTree(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, r.tool, append([]string{"--repo=" + r.folder}, args...)...)
	cmd.Stdout, cmd.Stderr = r.out, r.out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("ostree %s: %w; it has printed the reason", args[0], err)
	}
	return nil
}

func (r repository) pullCommits(ctx context.Context, url string, wanted []Wanted) error {
	for _, w := range wanted {
		if err := r.runOSTree(ctx, "pull", "--mirror", "--untrusted", "--url="+url, remoteName, w.Ref+"@"+w.Commit); err != nil {
			return err
		}
	}
	return r.runOSTree(ctx, "summary", "--update")
}

// forgetDamaged removes damaged objects, and marks commits that lack objects as partial. ostree marks commits in the
// same way while it fetches them, and a pull looks for missing objects only in marked commits. forgetDamaged reports
// whether it found such a commit.
func forgetDamaged(folder string, all []ContentStatus) (found bool, err error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return false, fmt.Errorf("repair the repository: %w", err)
	}
	defer func() { _ = root.Close() }() // the descriptor of the folder has no data to lose
	for _, s := range all {
		if s.IsComplete() || s.Objects <= 1 && len(s.Damaged) == 0 { // a commit of which no object exists needs no mark
			continue
		}
		found = true
		for _, path := range s.Damaged {
			if removeErr := root.Remove(path); !errors.Is(removeErr, fs.ErrNotExist) { // the object may be missing, because two commits may share it
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

// sourceURL returns the URL of a repository. A folder must be one, so that nothing is made for a source that does not exist.
func sourceURL(from string) (string, error) {
	if strings.Contains(from, "://") {
		return from, nil
	}
	folder, err := filepath.Abs(from)
	if err == nil {
		_, err = os.Stat(filepath.Join(folder, "config"))
	}
	if err != nil {
		return "", fmt.Errorf("--from: %s is not an ostree repository: %w; name the URL or the folder of one", from, textutil.ErrorWithoutPath(err))
	}
	return "file://" + folder, nil
}
