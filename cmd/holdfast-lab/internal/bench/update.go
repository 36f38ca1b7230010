package bench

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"holdfast/cmd/holdfast-lab/internal/image"
	"holdfast/cmd/holdfast-lab/internal/lab"
	"holdfast/cmd/holdfast-lab/internal/site"
	"holdfast/engine"
	"holdfast/engine/event"
)

// longestUpdate bounds one run. A staging at the governor's floor must fit in it.
const longestUpdate = 40 * time.Minute

// update is one run of the bench that updates a host in one way.
type update struct {
	bench  *Bench
	way    Way
	commit string
	number int
	host   *lab.Host
}

// moments has the times of a run, the load before the run, and the delays by the
// governor.
type moments struct {
	idleBegan      time.Time
	began, staged  time.Time // begin and end of the staging; in (a) and (r), of the whole run
	ended          time.Time
	taken          float64 // share of the processors' time in use before the update
	slowed, paused time.Duration
}

func (u update) writeInventory() error {
	text, err := os.ReadFile(filepath.Join(u.bench.Lab.Site(), site.Inventory))
	if err != nil {
		return fmt.Errorf("write inventory: %w", err)
	}
	changed := string(text)
	if u.way.governed {
		changed = strings.Replace(changed, "etcd_cluster \"main\" {\n", "etcd_cluster \"main\" {\n  latency {}\n", 1)
	}
	if u.way.mirrored {
		mirror := fmt.Sprintf("site \"lab\" {\n  mirror {\n    repository = %q\n  }\n", u.bench.Lab.Repository())
		changed = strings.Replace(changed, "site \"lab\" {\n", mirror, 1)
		changed = strings.Replace(changed, "    driver = \"ostree\"\n", "    driver = \"ostree\"\n    source = \"bastion\"\n", 1)
	}
	if err := os.WriteFile(u.bench.inventoryPath(), []byte(changed), 0o600); err != nil {
		return fmt.Errorf("write inventory: %w", err)
	}
	return nil
}

func (u update) updateHost(ctx context.Context, m *moments) error {
	ctx, cancel := context.WithTimeout(ctx, longestUpdate)
	defer cancel()
	boot, err := u.host.BootID(ctx)
	if err != nil {
		return err
	}
	m.began = time.Now()
	switch {
	case u.way.offline:
		// The exit status does not matter, because the reboot may end the
		// connection first.
		_, _, _, _ = u.runScript(ctx)
	case u.way.script != "":
		_, stderr, code, err := u.runScript(ctx)
		if err != nil || code != 0 {
			return errors.Join(fmt.Errorf("stage plainly: exit status %d: %s", code, strings.TrimSpace(stderr)), err)
		}
		m.staged = time.Now()
		fallthrough
	default:
		if err := u.runHoldfast(ctx, m); err != nil {
			return err
		}
	}
	if err := u.host.WaitUp(ctx, boot); err != nil {
		return err
	}
	if err := u.host.WaitEtcd(ctx); err != nil {
		return err
	}
	m.ended = time.Now()
	if u.way.offline {
		m.staged = m.ended
	}
	return u.checkBooted(ctx)
}

func (u update) checkBooted(ctx context.Context) error {
	if u.way.bare {
		return nil
	}
	commit, _, err := u.host.Booted(ctx)
	if err == nil && commit != u.commit {
		err = fmt.Errorf("%s runs %.12s, not %.12s", u.host.Name, commit, u.commit)
	}
	return err
}

func (u update) runScript(ctx context.Context) (stdout, stderr string, code int, err error) {
	script := fmt.Sprintf("sudo sh -c '%s' sh %s %s %s", u.way.script, image.Remote, u.bench.Lab.Suite().Ref(), u.commit)
	return u.host.Run(ctx, script)
}

func (u update) runHoldfast(ctx context.Context, m *moments) error {
	cmd := exec.CommandContext(ctx, u.bench.Binary, "apply", "--yes", "--json", "-i", u.bench.inventoryPath(), "-l", u.host.Name, "--var", "commit="+u.commit)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	log, err := u.createLog("events")
	if err != nil {
		return err
	}
	if err := u.bench.Lab.Start(cmd); err != nil {
		return errors.Join(err, log.Close())
	}
	cause, readErr := m.readEvents(io.TeeReader(stdout, log))
	err = errors.Join(readErr, log.Close(), cmd.Wait())
	if err != nil {
		return fmt.Errorf("holdfast apply: %w: %s", err, cmp.Or(cause, strings.TrimSpace(stderr.String())))
	}
	return nil
}

func (u update) createLog(kind string) (io.WriteCloser, error) {
	name := os.DevNull
	if u.bench.Logs != "" {
		name = filepath.Join(u.bench.Logs, fmt.Sprintf("%s-%d-%s.jsonl", u.way.Letter, u.number, kind))
	}
	return os.Create(name)
}

// latencyLine is the latency of a member between two scrapes.
type latencyLine struct {
	Time time.Time `json:"time"`
	engine.LatencyPoint
}

func (u update) logLatencies(samples []sample) error {
	log, err := u.createLog("latencies")
	if err != nil {
		return err
	}
	lines := json.NewEncoder(log)
	for _, h := range u.bench.Lab.Hosts() {
		all := seriesOf(samples, h.Name)
		for i := 1; i < len(all); i++ {
			err = errors.Join(err, lines.Encode(latencyLine{all[i].ScrapedAt, all[i].P99Since(all[i-1], h.Name)}))
		}
	}
	return errors.Join(err, log.Close())
}

func (m *moments) readEvents(from io.Reader) (cause string, err error) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return cause, nil
		}
		if err != nil {
			return cause, err
		}
		var e event.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return cause, fmt.Errorf("read event: %w", err)
		}
		switch {
		case e.Failure != nil:
			cause = e.Failure.Cause
		case e.Type == event.StageStarted && m.staged.IsZero():
			m.began = e.Time
		case e.Type == event.StageEnded && m.staged.IsZero():
			m.staged = e.Time
		case e.Type == event.StagingGoverned && e.Governor != nil && e.Governor.State == engine.GovernorEnded:
			m.slowed, m.paused = time.Duration(e.Governor.Slowed), time.Duration(e.Governor.Paused)
		}
	}
}
