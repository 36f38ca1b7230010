package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Results is the folder with the results of a series: its settings, the logs of
// each run, and files with one line for each run that ended. Each start of the
// bench writes a file of its own, so nothing is ever appended to a line that a kill
// cut short.
type Results struct {
	Dir  string
	file *os.File
	cut  []string // files whose last line is incomplete, when they were last read
}

const (
	settingsName = "settings.json"
	logsName     = "logs"
)

// CreateResults makes the folder of a new series.
func CreateResults(dir string, s Settings) (*Results, error) {
	if _, err := os.Stat(filepath.Join(dir, settingsName)); err == nil {
		return nil, fmt.Errorf("make results folder: %s has results already; continue them with --resume, or name another folder", dir)
	}
	if err := os.MkdirAll(filepath.Join(dir, logsName), 0o755); err != nil {
		return nil, fmt.Errorf("make results folder: %w", err)
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("make results folder: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, settingsName), append(text, '\n'), 0o644); err != nil {
		return nil, fmt.Errorf("make results folder: %w", err)
	}
	return &Results{Dir: dir}, nil
}

// OpenResults opens the folder of a series, checks its records, and returns its
// settings.
func OpenResults(dir string) (*Results, Settings, error) {
	path := filepath.Join(dir, settingsName)
	s, err := readSettings(path)
	if err != nil {
		return nil, s, fmt.Errorf("open results: %s: %w; name a folder that --results of bench etcd-io has made", path, err)
	}
	r := &Results{Dir: dir}
	if _, err := r.readRuns(); err != nil {
		return nil, s, err
	}
	return r, s, nil
}

// readSettings refuses a file without ways. The flags always set ways, so another program has written that file.
func readSettings(path string) (Settings, error) {
	var s Settings
	text, err := os.ReadFile(path)
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		return s, failed.Err // the caller names the path
	}
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err == nil && s.Ways == "" {
		err = errors.New("it has no settings of a series")
	}
	return s, err
}

func (r *Results) appendRun(one run) error {
	line, err := json.Marshal(one)
	if err == nil && r.file == nil {
		name := "runs-" + time.Now().UTC().Format("20060102-150405") + ".jsonl"
		r.file, err = os.OpenFile(filepath.Join(r.Dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	}
	if err == nil {
		_, err = r.file.Write(append(line, '\n'))
	}
	if err == nil {
		err = r.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// Close closes the file with the records.
func (r *Results) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// listFiles lists the files with records, oldest first.
func (r *Results) listFiles() ([]string, error) {
	entries, err := os.ReadDir(r.Dir)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	var files []string
	for _, entry := range entries {
		if ok, _ := filepath.Match("runs-*.jsonl", entry.Name()); ok { // the pattern is correct
			files = append(files, filepath.Join(r.Dir, entry.Name()))
		}
	}
	return files, nil
}

// readRuns reads all records, oldest first. If a run was measured again, because
// it had failed before its staging began, the last record counts.
func (r *Results) readRuns() ([]run, error) {
	files, err := r.listFiles()
	if err != nil {
		return nil, err
	}
	r.cut = nil
	var all []run
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read results: %w", err)
		}
		if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
			r.cut = append(r.cut, file)
		}
		for i, line := range bytes.SplitAfter(text, []byte("\n")) {
			if !bytes.HasSuffix(line, []byte("\n")) {
				continue // the bench was killed while it wrote
			}
			var one run
			if err := json.Unmarshal(line, &one); err != nil {
				return nil, fmt.Errorf("read results: %s:%d: %w; delete this line, and --resume measures its run again", file, i+1, err)
			}
			if wayOf(one.Way).letter == "" {
				return nil, fmt.Errorf("read results: %s:%d: there is no way %q; delete this line", file, i+1, one.Way)
			}
			all = addRun(all, one)
		}
	}
	return all, nil
}

func addRun(all []run, one run) []run {
	i := slices.IndexFunc(all, func(r run) bool { return r.key == one.key })
	if i < 0 {
		return append(all, one)
	}
	if all[i].Unmeasured {
		all[i] = one
	}
	return all
}

func (r *Results) logPath(k key, name string) string {
	return filepath.Join(r.Dir, logsName, fmt.Sprintf("%s-%d-%dmbps-%diops-%s", k.Way, k.Round, k.Disk.BytesPerSecond/Megabyte, k.Disk.IOPS, name))
}

var errFailedRuns = errors.New("runs failed; the table has the reasons")
