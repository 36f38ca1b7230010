package reboots

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"holdfast/cmd/holdfast-lab/internal/probe"
	"holdfast/cmd/holdfast-lab/internal/site"
	"holdfast/engine"
	"holdfast/engine/clock"
	"holdfast/engine/event"
)

const (
	settleTime = 5 * time.Second // between the boot of the hosts and the update
	runTimeout = 15 * time.Minute
	afterTime  = 2 * time.Second // that the client still writes after the update
	surviving  = "survive_soft_reboots"
)

// errUnknownSetting means that the inventory does not know the setting of a way.
var errUnknownSetting = errors.New("the inventory does not know " + surviving)

// moments has the times of a run, from the events of holdfast. Staging is not part of the reboot.
type moments struct {
	began    time.Time // the batch begins: soon etcd's leader is moved, if it is on the host
	ordered  time.Time // the step that orders the reboot begins
	given    time.Time // it ends: the reboot begins
	answered time.Time // the host answers with another boot
	healthy  time.Time // the host matches, its units and its member are healthy, and it is released
}

// measureMember updates the host of a member on new hosts.
func (b *Bench) measureMember(ctx context.Context, k key, r *run) error {
	ctx, cancel := context.WithTimeout(ctx, runTimeout+2*b.Firmware)
	defer cancel()
	if err := b.Lab.Reset(ctx); err != nil {
		return err
	}
	if err := b.prepare(ctx, k); err != nil {
		return err
	}
	if err := clock.Sleep(ctx, settleTime); err != nil {
		return err
	}
	h, err := b.chooseHost(ctx, k.Role)
	if err != nil {
		return err
	}
	r.Host = h.Name
	if err := h.SetPost(ctx, b.Firmware); err != nil {
		return err
	}
	before, err := countReboots(ctx, h)
	if err != nil {
		return err
	}
	p, err := b.Lab.Probe(ctx, k.Role.cluster())
	if err != nil {
		return err
	}
	m, err := b.updateHost(ctx, k, h.Name, b.commit)
	if err == nil {
		err = clock.Sleep(ctx, afterTime)
	}
	record, stopErr := p.StopRecord()
	if err := errors.Join(err, stopErr); err != nil {
		return err
	}
	if err := checkReboot(ctx, h, before, k); err != nil {
		return err
	}
	if err := r.addTimes(m); err != nil {
		return err
	}
	r.addFigures(m, record)
	return nil
}

// readInventory returns the inventory of the lab.
func (b *Bench) readInventory() (string, error) {
	text, err := os.ReadFile(filepath.Join(b.Lab.Site(), site.Inventory))
	if err != nil {
		return "", fmt.Errorf("write inventory: %w", err)
	}
	return string(text), nil
}

// prepare writes the inventory, and lets etcd run on during soft reboots if the way needs it.
func (b *Bench) prepare(ctx context.Context, k key) error {
	text, err := b.readInventory()
	if err != nil {
		return err
	}
	if err := b.writeInventory(text, wayOf(k.Way), true); err != nil || !wayOf(k.Way).stays {
		return err
	}
	if out, err := b.Lab.Exec(ctx, b.Binary, "validate", "-i", b.inventoryPath()); err != nil {
		if strings.Contains(string(out), surviving) {
			return errUnknownSetting
		}
		return fmt.Errorf("holdfast validate: %w: %s", err, lastLine(string(out)))
	}
	out, err := b.Lab.Exec(ctx, b.Binary, "etcd", "members", "apply", "--yes", "-i", b.inventoryPath(), k.Role.cluster())
	if err != nil {
		return fmt.Errorf("holdfast etcd members apply: %w: %s", err, lastLine(string(out)))
	}
	return b.writeInventory(text, wayOf(k.Way), false) // with outages, the only member would be restarted after the reboot
}

func (b *Bench) writeInventory(text string, w way, outages bool) error {
	changed, err := changeInventory(text, w, outages)
	if err != nil {
		return err
	}
	return b.saveInventory(changed)
}

func (b *Bench) saveInventory(text string) error {
	if err := os.WriteFile(b.inventoryPath(), []byte(text), 0o600); err != nil {
		return fmt.Errorf("write inventory: %w", err)
	}
	return nil
}

// changeInventory allows soft reboots and, with outages, outages of the cluster with one member.
func changeInventory(text string, w way, outages bool) (string, error) {
	clusters := "  governor = false\n"
	if w.stays {
		clusters += "  manage = true\n  " + surviving + " = true\n"
	}
	soft := "  reboot {\n    soft = \"auto\"\n  }\n"
	return insertLines(text, [][2]string{
		{"etcd_cluster \"main\" {\n", clusters},
		{"etcd_cluster \"one\" {\n", clusters + fmt.Sprintf("  allow_outage = %t\n", outages)},
		{"pool \"etcd\" {\n", soft},
		{"pool \"single\" {\n", soft},
	})
}

// insertLines inserts the second text of each pair after the line that is the first.
func insertLines(text string, pairs [][2]string) (string, error) {
	for _, i := range pairs {
		before, after, found := strings.Cut(text, i[0])
		if !found {
			return "", fmt.Errorf("write inventory: the inventory of the lab has no line %q", strings.TrimSpace(i[0]))
		}
		text = before + i[0] + i[1] + after
	}
	return text, nil
}

// updateHost updates a host to a commit, and returns the times of its reboot.
func (b *Bench) updateHost(ctx context.Context, k key, host, commit string) (m moments, err error) {
	args := []string{"apply", "--yes", "--json", "-i", b.inventoryPath(), "-l", host, "--var", "commit=" + commit}
	if wayOf(k.Way).kind == engine.FullReboot {
		args = append(args, "--full-reboot")
	}
	cmd := exec.CommandContext(ctx, b.Binary, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return m, err
	}
	log, err := os.Create(b.Results.logPath(k))
	if err != nil {
		return m, err
	}
	if err := b.Lab.Start(cmd); err != nil {
		return m, errors.Join(err, log.Close())
	}
	cause, readErr := m.readEvents(io.TeeReader(stdout, log), host)
	if err := errors.Join(readErr, log.Close(), cmd.Wait()); err != nil {
		return m, fmt.Errorf("holdfast apply: %w: %s", err, cmp.Or(cause, lastLine(stderr.String())))
	}
	return m, nil
}

// readEvents reads the events of a run until its end. It returns the cause of the last failure, if there is one.
func (m *moments) readEvents(from io.Reader, host string) (cause string, err error) {
	err = event.ReadLines(from, func(e event.Event) {
		switch {
		case e.Failure != nil:
			cause = e.Failure.Cause
		case e.Type == event.BatchStarted && m.began.IsZero():
			m.began = e.Time
		case e.Host != host:
		case e.Type == event.StepStarted && e.Reboot != nil:
			m.ordered = e.Time
		case e.Type == event.StepEnded && e.Step == "finalize":
			m.given = e.Time
		case e.Type == event.StepEnded && e.Step == "wait for boot":
			m.answered = e.Time
		case e.Type == event.HostDone:
			m.healthy = e.Time
		}
	})
	return cause, err
}

// addTimes sets the times of the host. It fails if one is not known.
func (r *run) addTimes(m moments) error {
	if m.began.IsZero() || m.ordered.IsZero() || m.given.IsZero() || m.answered.IsZero() || m.healthy.IsZero() {
		return errors.New("holdfast has reported no reboot of the host")
	}
	r.Given = engine.Duration(m.given.Sub(m.ordered))
	r.Answered, r.Healthy = engine.Duration(m.answered.Sub(m.ordered)), engine.Duration(m.healthy.Sub(m.ordered))
	return nil
}

func (r *run) addFigures(m moments, record probe.Record) {
	s := probe.Summarize(record.Between(m.began, record.End))
	r.Failures, r.Errors, r.Gap = s.Failed, s.Errors, engine.Duration(s.Gap)
	r.Voters, r.LeaderChanges = s.MinVoters, s.LeaderChanges
	r.Away = awayOf(s, r.Host)
	reboot := probe.Summarize(record.Between(m.began, m.answered))
	r.RebootAway, r.RebootVoters = awayOf(reboot, r.Host), reboot.MinVoters
}

func awayOf(s probe.Report, host string) engine.Duration {
	for _, member := range s.Members {
		if member.Name == host {
			return engine.Duration(member.Longest())
		}
	}
	return 0
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndex(text, "\n")+1:]
}

// readLoad returns the load of the machine in the last minute, 0 if it is not known.
func readLoad() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, _ := strconv.ParseFloat(first, 64)
	return load
}
