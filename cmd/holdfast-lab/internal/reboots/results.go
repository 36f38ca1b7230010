package reboots

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
)

// run is the record of one run: one line of the results.
type run struct {
	key
	Began  time.Time       `json:"began"`
	Took   engine.Duration `json:"took"` // with making the hosts
	Load   float64         `json:"load"` // load of the machine at the beginning
	Host   string          `json:"host,omitempty"`
	Failed string          `json:"failed,omitempty"` // why the run failed; it has no figures then

	Away          engine.Duration `json:"away"`          // longest time for which the member did not answer
	RebootAway    engine.Duration `json:"reboot_away"`   // of this, until the host answers: an etcd that has run on restarts later
	RebootVoters  int             `json:"reboot_voters"` // fewest voters that answered until then
	Failures      int             `json:"failures"`      // failed writes
	Errors        []string        `json:"errors,omitempty"`
	Gap           engine.Duration `json:"gap"`            // longest time without a commit
	Voters        int             `json:"voters"`         // fewest voters that answered
	LeaderChanges int             `json:"leader_changes"` // also the one that holdfast orders
	Given         engine.Duration `json:"given"`          // the order itself: a kexec finalizes the OS and loads the kernel in it
	Answered      engine.Duration `json:"answered"`       // from the order until the host answers with another boot
	Healthy       engine.Duration `json:"healthy"`        // from the order until the host is done
}

func (r run) String() string {
	if r.Failed != "" {
		return "failed: " + r.Failed
	}
	if r.Role == virtual {
		return fmt.Sprintf("the order takes %s; the host answers after %s, and is healthy after %s; load %.1f",
			formatTime(float64(r.Given)), formatTime(float64(r.Answered)), formatTime(float64(r.Healthy)), r.Load)
	}
	text := fmt.Sprintf("member away %s, %d writes failed, %s without a commit, %d voters, %d leader changes; the host answers after %s, and is healthy after %s; load %.1f",
		formatTime(float64(r.Away)), r.Failures, formatTime(float64(r.Gap)), r.Voters, r.LeaderChanges, formatTime(float64(r.Answered)), formatTime(float64(r.Healthy)), r.Load)
	return strings.Join(append([]string{text}, r.Errors...), "\n    a write failed: ")
}

// Results is the folder with the results of a series: a file with a line for each run, and the events of each run.
type Results struct {
	Dir string
}

// Make makes the folder if it does not exist. Results that it has already count.
func (r Results) Make() error {
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return fmt.Errorf("make results folder: %w", err)
	}
	return nil
}

func (r Results) path() string { return filepath.Join(r.Dir, "runs.jsonl") }

func (r Results) logPath(k key) string {
	return filepath.Join(r.Dir, fmt.Sprintf("%s-%s-%d-events.jsonl", k.Way, strings.ReplaceAll(string(k.Role), " ", "-"), k.Round))
}

// read returns all runs. The last line of a run counts. A line without an end, of a bench that was killed, is ignored.
func (r Results) read() ([]run, error) {
	text, err := os.ReadFile(r.path())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	var all []run
	for i, line := range bytes.SplitAfter(text, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 || !bytes.HasSuffix(line, []byte("\n")) {
			continue
		}
		var one run
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, fmt.Errorf("read results: %s:%d: %w; delete this line to measure its run again", r.path(), i+1, err)
		}
		all = append(slices.DeleteFunc(all, func(old run) bool { return old.key == one.key }), one)
	}
	return all, nil
}

// add appends a run. It first ends a line that a killed bench has left.
func (r Results) add(one run) error {
	line, err := json.Marshal(one)
	if err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	before, err := os.ReadFile(r.path())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("write result: %w", err)
	}
	whole := before[:bytes.LastIndexByte(before, '\n')+1]
	if err := os.WriteFile(r.path()+".new", slices.Concat(whole, line, []byte("\n")), 0o644); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	if err := os.Rename(r.path()+".new", r.path()); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}
