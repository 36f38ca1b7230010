package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"holdfast/cmd/holdfast-lab/internal/image"
	"holdfast/cmd/holdfast-lab/internal/lab"
	"holdfast/engine"
	"holdfast/engine/clock"
)

const (
	settleTime    = 5 * time.Second  // wait after the boot
	idleTime      = 20 * time.Second // duration of the measurement before the update
	longestUpdate = stageTimeout + 15*time.Minute
	rebootTimeout = 3 * time.Minute // after a script that has failed
)

// update is one run of the bench that updates a host in one way.
type update struct {
	key
	bench *Bench
	way   way
	host  *lab.Host
}

// moments has the times of a run, and the delays by the governor.
type moments struct {
	idleBegan      time.Time
	updateBegan    bool      // a later failure counts against the way
	began, staged  time.Time // begin and end of the staging; in (a) and (r), of the whole run
	ended          time.Time
	slowed, paused time.Duration
	stopped        engine.StopReason // why the governor stopped the staging
}

// end notes that the update has ended. If it failed, the staging may not have
// ended before.
func (m *moments) end() {
	m.ended = time.Now()
	if m.staged.IsZero() {
		m.staged = m.ended
	}
}

// measureUpdate returns the observations until then if the update fails.
func (u *update) measureUpdate(ctx context.Context) (m measurement, err error) {
	b := u.bench
	if err := b.Lab.Reset(ctx); err != nil {
		return m, err
	}
	var images []string
	for _, h := range b.Lab.Hosts() {
		images = append(images, h.Image())
		if err := h.Slow(ctx, u.Disk); err != nil {
			return m, err
		}
	}
	if err := u.writeInventory(); err != nil {
		return m, err
	}
	p, err := b.Lab.Probe(ctx, cluster)
	if err != nil {
		return m, err
	}
	meter, err := startMeter(ctx, b.Lab)
	if err != nil {
		_, stopErr := p.StopRecord()
		return m, errors.Join(err, stopErr)
	}
	load := startWatch(ctx, sysBlock, images)
	err = u.measureIdleAndRun(ctx, &m.moments)
	m.end()
	var loadErr, probeErr error
	m.samples = meter.stopScraping()
	m.watched, loadErr = load.stop()
	m.record, probeErr = p.StopRecord()
	return m, errors.Join(err, loadErr, probeErr)
}

func (u *update) measureIdleAndRun(ctx context.Context, m *moments) (err error) {
	if err := clock.Sleep(ctx, settleTime); err != nil {
		return err
	}
	m.idleBegan = time.Now()
	if err := clock.Sleep(ctx, idleTime); err != nil {
		return err
	}
	if u.host, err = u.bench.findLeader(ctx); err != nil {
		return err
	}
	return u.updateHost(ctx, m)
}

func (u *update) updateHost(ctx context.Context, m *moments) error {
	ctx, cancel := context.WithTimeout(ctx, longestUpdate)
	defer cancel()
	boot, err := u.host.BootID(ctx)
	if err != nil {
		return err
	}
	var failed error
	m.began = time.Now()
	m.updateBegan = u.way.script != "" // an event of holdfast says when it begins to stage
	switch {
	case u.way.offline:
		// The reboot may end the connection or the script first. But if the script
		// has failed, there may be no reboot to wait for.
		if _, stderr, code, _ := u.runScript(ctx); code > 0 && code < 128 {
			failed = fmt.Errorf("update naively: exit status %d: %s", code, strings.TrimSpace(stderr))
			ctx, cancel = context.WithTimeout(ctx, rebootTimeout)
			defer cancel()
		}
	case u.way.script != "":
		_, stderr, code, err := u.runScript(ctx)
		if err != nil || code != 0 {
			return errors.Join(fmt.Errorf("stage plainly: exit status %d: %s", code, strings.TrimSpace(stderr)), err)
		}
		m.staged = time.Now()
		fallthrough
	default:
		if err := u.runHoldfast(ctx, m); err != nil {
			return errors.Join(err, ctx.Err())
		}
	}
	if err := u.host.WaitUp(ctx, boot); err != nil {
		return cmp.Or(failed, err)
	}
	if err := u.host.WaitEtcd(ctx); err != nil {
		return err
	}
	return u.checkBooted(ctx)
}

func (u *update) checkBooted(ctx context.Context) error {
	if u.way.bare {
		return nil
	}
	commit, _, err := u.host.Booted(ctx)
	if err == nil && commit != u.bench.commit {
		err = fmt.Errorf("%s runs %.12s, not %.12s", u.host.Name, commit, u.bench.commit)
	}
	return err
}

func (u *update) runScript(ctx context.Context) (stdout, stderr string, code int, err error) {
	script := fmt.Sprintf("sudo sh -c '%s' sh %s %s %s", u.way.script, image.Remote, u.bench.Lab.Suite().Ref(), u.bench.commit)
	return u.host.Run(ctx, script)
}

func (u *update) runHoldfast(ctx context.Context, m *moments) error {
	cmd := exec.CommandContext(ctx, u.bench.Binary, "apply", "--yes", "--json", "-i", u.bench.inventoryPath(), "-l", u.host.Name, "--var", "commit="+u.bench.commit)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	log, err := os.Create(u.bench.Results.logPath(u.key, "events.jsonl"))
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

// latencyLine is the latency of a member between two scrapes.
type latencyLine struct {
	Time time.Time `json:"time"`
	engine.LatencyPoint
}

func (u *update) writeLogs(m measurement) error {
	results := u.bench.Results
	log, err := os.Create(results.logPath(u.key, "latencies.jsonl"))
	if err != nil {
		return fmt.Errorf("write logs: %w", err)
	}
	lines := json.NewEncoder(log)
	for i, h := range u.bench.Lab.Hosts() {
		all := seriesOf(m.samples, h.Name)
		for i := 1; i < len(all); i++ {
			err = errors.Join(err, lines.Encode(latencyLine{all[i].ScrapedAt, all[i].P99Since(all[i-1], h.Name)}))
		}
		title := fmt.Sprintf("The disk of %s, which is not staged, in %s; another member is staged", h.Name, u.key)
		if h.Name == u.host.Name {
			title = fmt.Sprintf("The disk of %s in %s, with the load of the staging from %s to %s", h.Name, u.key, m.began.Format(time.RFC3339Nano), m.staged.Format(time.RFC3339Nano))
		}
		err = errors.Join(err, writeLoad(results.logPath(u.key, h.Name+".load"), title, m.watched, i))
	}
	if err := errors.Join(err, log.Close()); err != nil {
		return fmt.Errorf("write logs: %w", err)
	}
	return nil
}
