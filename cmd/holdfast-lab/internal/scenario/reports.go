package scenario

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/engine/report/reporttest"
)

// These bound the reports of a scenario. The newest runs are reported.
const (
	mostReports   = 20
	reportTimeout = time.Minute
)

// checkReports makes a report of each run of a scenario, and checks its page.
func (s *stage) checkReports() error {
	journals, err := filepath.Glob(filepath.Join(s.work, "*", "runs", "*.jsonl"))
	if err != nil {
		return err
	}
	slices.SortFunc(journals, func(a, b string) int { return strings.Compare(filepath.Base(b), filepath.Base(a)) }) // names begin with the time
	for _, path := range journals[:min(len(journals), mostReports)] {
		if info, err := os.Stat(path); err != nil || info.Size() == 0 { // of a run that was killed before its first event
			continue
		}
		if err := s.checkPageOf(path); err != nil {
			return fmt.Errorf("report of %s: %w", filepath.Base(path), err)
		}
	}
	return nil
}

func (s *stage) checkPageOf(path string) error {
	ctx, cancel := context.WithTimeout(s.ctx, reportTimeout)
	defer cancel()
	var page, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, s.binary, "report", strings.TrimSuffix(filepath.Base(path), ".jsonl"), "--runs", filepath.Dir(path), "--out", "-")
	cmd.Stdout, cmd.Stderr = &page, &complaint
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, complaint.String())
	}
	return reporttest.CheckPage(page.String())
}
