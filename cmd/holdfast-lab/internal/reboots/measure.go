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

	"holdfast/cmd/holdfast-lab/internal/lab"
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
	answered time.Time // the host answers with another boot
	healthy  time.Time // the host matches, its units and its member are healthy, and it is released
}

func (b *Bench) measureOnce(ctx context.Context, k key, r *run) error {
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
	m, err := b.updateHost(ctx, k, h.Name)
	if err == nil {
		err = clock.Sleep(ctx, afterTime)
	}
	record, stopErr := p.StopRecord()
	if err := errors.Join(err, stopErr); err != nil {
		return err
	}
	if m.began.IsZero() || m.ordered.IsZero() || m.answered.IsZero() || m.healthy.IsZero() {
		return errors.New("holdfast has reported no reboot of the host")
	}
	after, err := countReboots(ctx, h)
	if err != nil {
		return err
	}
	if got := after.since(before); got != wayOf(k.Way).kind {
		return fmt.Errorf("the reboot was %s", cmp.Or(got, "neither one full nor one soft reboot"))
	}
	r.addFigures(m, record)
	return nil
}

// prepare writes the inventory, and lets etcd run on during soft reboots if the way needs it.
func (b *Bench) prepare(ctx context.Context, k key) error {
	text, err := os.ReadFile(filepath.Join(b.Lab.Site(), site.Inventory))
	if err != nil {
		return fmt.Errorf("write inventory: %w", err)
	}
	if err := b.writeInventory(string(text), wayOf(k.Way), true); err != nil || !wayOf(k.Way).stays {
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
	return b.writeInventory(string(text), wayOf(k.Way), false) // with outages, the only member would be restarted after the reboot
}

func (b *Bench) writeInventory(text string, w way, outages bool) error {
	changed, err := changeInventory(text, w, outages)
	if err != nil {
		return err
	}
	if err := os.WriteFile(b.inventoryPath(), []byte(changed), 0o600); err != nil {
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
	for _, i := range [][2]string{
		{"etcd_cluster \"main\" {\n", clusters},
		{"etcd_cluster \"one\" {\n", clusters + fmt.Sprintf("  allow_outage = %t\n", outages)},
		{"pool \"etcd\" {\n", soft},
		{"pool \"single\" {\n", soft},
	} {
		before, after, found := strings.Cut(text, i[0])
		if !found {
			return "", fmt.Errorf("write inventory: the inventory of the lab has no line %q", strings.TrimSpace(i[0]))
		}
		text = before + i[0] + i[1] + after
	}
	return text, nil
}

func (b *Bench) updateHost(ctx context.Context, k key, host string) (m moments, err error) {
	args := []string{"apply", "--yes", "--json", "-i", b.inventoryPath(), "-l", host, "--var", "commit=" + b.commit}
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
		case e.Type == event.StepEnded && e.Step == "wait for boot":
			m.answered = e.Time
		case e.Type == event.HostDone:
			m.healthy = e.Time
		}
	})
	return cause, err
}

// reboots counts the reboots of a host.
type reboots struct {
	full int
	soft int // since the last full one
}

// since returns the kind of the one reboot since earlier, "" if it was not one.
func (r reboots) since(earlier reboots) engine.RebootKind {
	switch {
	case r.full == earlier.full+1 && r.soft == 0:
		return engine.FullReboot
	case r.full == earlier.full && r.soft == earlier.soft+1:
		return engine.SoftReboot
	}
	return ""
}

func countReboots(ctx context.Context, h *lab.Host) (reboots, error) {
	log, err := h.PowerLog()
	if err != nil {
		return reboots{}, err
	}
	var r reboots
	for _, e := range log {
		if strings.HasPrefix(e.Text, "boot ") {
			r.full++
		}
	}
	text, err := h.Output(ctx, "systemctl show --value --property=SoftRebootsCount")
	if err != nil {
		return r, err
	}
	r.soft, err = strconv.Atoi(text)
	return r, err
}

func (r *run) addFigures(m moments, record probe.Record) {
	s := probe.Summarize(record.Between(m.began, record.End))
	r.Failures, r.Errors, r.Gap = s.Failed, s.Errors, engine.Duration(s.Gap)
	r.Voters, r.LeaderChanges = s.MinVoters, s.LeaderChanges
	r.Answered, r.Healthy = engine.Duration(m.answered.Sub(m.ordered)), engine.Duration(m.healthy.Sub(m.ordered))
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
