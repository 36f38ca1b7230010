package hook

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// Limits of the command.
const (
	commandTime = 5 * time.Minute
	shownOutput = 1000 // bytes of its output that a failure shows
)

// Hook is the command of one cluster.
type Hook struct {
	Cluster string
	Run     string // ID of the run
	Folder  string // folder of the files of due commands; it is made if it is missing

	// Execute runs the command on the bastion.
	Execute func(ctx context.Context, env []string) (engine.Output, error)

	Secrets textutil.Secrets // hidden in its output

	// Endpoints returns the client URLs of the voters.
	Endpoints func(ctx context.Context) ([]string, error)
}

func (h Hook) path() string { return filepath.Join(h.Folder, h.Cluster+".due") }

// IsDue reports whether the members have changed, or may have changed, since the command last succeeded.
func (h Hook) IsDue() (bool, error) {
	_, err := os.Lstat(h.path())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// MarkDue records that the command is due. When it has returned without an error, the record survives a power cut.
func (h Hook) MarkDue() error {
	if err := os.MkdirAll(h.Folder, 0o700); err != nil {
		return fmt.Errorf("remember that the hook is due: %w", err)
	}
	file, err := os.OpenFile(h.path(), os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = errors.Join(file.Sync(), file.Close(), h.syncFolders())
	}
	if err != nil {
		return fmt.Errorf("remember that the hook is due: %w", err)
	}
	return nil
}

// syncFolders syncs the folder, and the folders above that MarkDue may have made.
func (h Hook) syncFolders() error {
	var errs []error
	for _, path := range []string{h.Folder, filepath.Dir(h.Folder), filepath.Dir(filepath.Dir(h.Folder))} {
		folder, err := os.Open(path)
		if err == nil {
			err = errors.Join(folder.Sync(), folder.Close())
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// RunCommand runs the command with the client URLs of the cluster. If the command succeeds, it is no longer due.
func (h Hook) RunCommand(ctx context.Context) error {
	urls, err := h.Endpoints(ctx)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeoutCause(ctx, commandTime, fmt.Errorf("it has not ended within %s", engine.Duration(commandTime).Trimmed()))
	defer cancel()
	reply, err := h.Execute(limited, []string{
		"HOLDFAST_CLUSTER=" + h.Cluster, "HOLDFAST_ENDPOINTS=" + strings.Join(urls, ","), "HOLDFAST_RUN=" + h.Run,
	})
	if err == nil && reply.Code != 0 {
		err = fmt.Errorf("exit status %d", reply.Code)
	}
	if err != nil {
		return fmt.Errorf("the hook failed, and the next run repeats it: %w%s", err, h.describeOutput(reply))
	}
	if err := os.Remove(h.path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget that the hook was due: %w", err)
	}
	return nil
}

// describeOutput returns the end of the output of a command that failed.
func (h Hook) describeOutput(reply engine.Output) string {
	text := strings.TrimSpace(reply.Stderr)
	if text == "" {
		text = strings.TrimSpace(reply.Stdout)
	}
	if text == "" {
		return ""
	}
	return ": " + textutil.Printable(h.Secrets.KeepTail(text, shownOutput))
}
