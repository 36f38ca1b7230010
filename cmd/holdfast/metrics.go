package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"holdfast/engine"
	"holdfast/engine/clock"
	"holdfast/engine/content/regular"
	"holdfast/engine/journal"
	"holdfast/engine/privatefile"
	"holdfast/engine/report"
	"holdfast/engine/report/metrics"
	"holdfast/engine/textutil"
)

func addMetrics(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "metrics", "", "at the end, write metrics to `FILE` for the textfile collector of node_exporter (docs/metrics.md); one file for each site")
}

// metricsRecorder collects the figures of one command.
type metricsRecorder struct {
	path    string // empty: no metrics are written
	figures metrics.Figures
	site    *site // nil: the inventory could not be read
}

// recordMetrics carries a command out, and writes its metrics, also if it fails. A
// file that cannot be written is an error before the command begins. Later it is a
// warning, which does not change the exit code.
func recordMetrics(c *console, command, path string, run func(*metricsRecorder) error) error {
	m := &metricsRecorder{path: path}
	if path == "" {
		return run(m)
	}
	if err := checkMetricsFile(path); err != nil {
		return fmt.Errorf("%s: --metrics: %w", command, err)
	}
	m.figures.Command, m.figures.Began = command, clock.Real{}.Now()
	err := run(m)
	m.figures.Ended, m.figures.Exit = clock.Real{}.Now(), exitCodeOf(c.hard, err)
	if failed := m.writeFile(); failed != nil {
		c.printWarning("the metrics were not written: " + textutil.Printable(failed.Error()))
	}
	return err
}

func checkMetricsFile(path string) error {
	if filepath.Ext(path) != ".prom" {
		return fmt.Errorf("node_exporter reads only files whose names end in .prom; %s does not", path)
	}
	if err := checkFolder("metrics", path); err != nil {
		return err
	}
	_, err := readMetrics(path)
	return err
}

// enterSite names the site, and refuses a file that has the metrics of another site. The file then stays as it is.
func (m *metricsRecorder) enterSite(s *site) error {
	m.site, m.figures.Site = s, s.inv.Site
	if m.path == "" {
		return nil
	}
	_, err := m.readOwnMetrics()
	if err != nil {
		m.path = ""
	}
	return err
}

// readOwnMetrics reads the file. Its error names another site that has the file.
func (m *metricsRecorder) readOwnMetrics() (metrics.File, error) {
	old, err := readMetrics(m.path)
	if err != nil {
		return metrics.File{}, err
	}
	if other, own := old.Site(), m.figures.Site; other != "" && own != "" && other != own {
		return metrics.File{}, fmt.Errorf("%s has the metrics of site %s; name another file for %s, or remove it", m.path, other, own)
	}
	return old, nil
}

// noteStatus notes the state of the whole site, which commands with a limit do not know.
func (m *metricsRecorder) noteStatus(s engine.Status) {
	m.figures.Status, m.figures.StatusAt = &s, clock.Real{}.Now()
}

// skipIfBusy writes no metrics if the command found the site locked by another run. That run may hang, which shows only if
// the file keeps the end of the last run that had the lock.
func (m *metricsRecorder) skipIfBusy(err error) {
	var busy *journal.BusyError
	if errors.As(err, &busy) {
		m.path = ""
	}
}

// writeFile does nothing if no metrics are written.
func (m *metricsRecorder) writeFile() error {
	if m.path == "" {
		return nil
	}

	if m.figures.Status != nil { // the history includes this run
		status := *m.figures.Status
		if history, err := journal.ReadHistory(m.site.runsDir, m.site.inv.Site); err == nil {
			status = history.WithSince(status)
		}
		status = report.HideSensitive(status, m.site.loaded.Sensitive)
		m.figures.Status = &status
	}
	leave := lockFolder(filepath.Dir(m.path))
	defer leave()
	old, err := m.readOwnMetrics() // a command of another site may have written the file meanwhile
	if err != nil {
		return err
	}
	text, err := old.Update(m.figures).Encode()
	if err != nil {
		return err
	}
	return privatefile.Publish(m.path, text)
}

// maxMetrics is the longest file of metrics, in bytes. Sites of ten thousand hosts
// that are all held have files of about 5 MiB.
const maxMetrics = 64 << 20

// readMetrics reads the file that earlier commands of the site have left, if any. It
// follows no link, and does not wait for a pipe.
func readMetrics(path string) (old metrics.File, err error) {
	folder, err := regular.OpenFolder(filepath.Dir(path))
	if err != nil {
		return metrics.File{}, err
	}
	defer func() { _ = folder.Close() }() // nothing was written
	text, err := regular.ReadFile(folder, filepath.Base(path), maxMetrics)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return metrics.File{}, nil
	case errors.Is(err, unix.ELOOP):
		return metrics.File{}, fmt.Errorf("%s is a link; name the file that it leads to, or remove the link", path)
	case err == nil:
		old, err = metrics.Parse(text)
	}
	if err != nil {
		return metrics.File{}, fmt.Errorf("%s: %w; remove it, or name another file", path, err)
	}
	return old, nil
}

// metricsPatience limits how long a command waits for another command of the site that
// updates the file.
const metricsPatience = 2 * time.Second

// lockFolder keeps two commands from updating a file at the same time, in which case
// one update would be lost. Another account may hold the lock. So after metricsPatience,
// the command goes on without it. It may also have replaced the folder by a pipe, which is
// not opened: that would wait for a writer.
func lockFolder(dir string) (leave func()) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return func() {}
	}
	_ = journal.LockFile(f, metricsPatience)
	return func() { _ = f.Close() }
}
