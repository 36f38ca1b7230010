package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sourcegraph/conc"
	"holdfast/cmd/holdfast-lab/internal/disk"
	"holdfast/cmd/holdfast-lab/internal/image"
)

// machine is a host with power. One goroutine owns it. Commands arrive through
// requests.
type machine struct {
	Folder
	config   Config
	settings Settings
	group    cgroup
	throttle *disk.Throttle // nil if the machine cannot slow disks down
	loop     *disk.Loop     // nil for directory hosts and between boots
	mounted  bool           // the filesystem of the loop device is mounted
	requests chan request
	waiting  []request // answered when this boot has ended
	frozen   bool
}

// Supervise runs a host until its power is off. The caller must run it in a
// separate process, inside the lab's network namespace and in a private mount
// namespace. When ctx ends, Supervise cuts the power.
func Supervise(ctx context.Context, f Folder) (err error) {
	lock, err := f.lockHost()
	if err != nil {
		return err
	}
	m := &machine{Folder: f, requests: make(chan request)}
	defer func() {
		if err != nil { // before the lock is released: others wait for the lock and then read this
			m.logPower(FailEvent, err)
		}
		err = errors.Join(err, lock.Close())
	}()
	if err := m.openMachine(); err != nil {
		return err
	}
	listener, err := f.listenControl()
	if err != nil {
		return err
	}
	done := make(chan struct{})
	var wg conc.WaitGroup
	wg.Go(func() { acceptCommands(listener, m.requests, done) })
	err = m.runUntilOff(ctx)
	err = errors.Join(err, listener.Close())
	close(done)
	wg.Wait()
	return err
}

func (m *machine) openMachine() (err error) {
	if m.config, err = m.Config(); err != nil {
		return err
	}
	if m.settings, err = m.Settings(); err != nil {
		return err
	}
	if m.throttle, err = disk.OpenThrottle(); err != nil && !errors.Is(err, disk.ErrNoThrottle) {
		return err
	}
	if err := hideNspawn(); err != nil {
		return err
	}
	m.group, err = enterCgroups(m.config.Group, m.config.Host.Name)
	return err
}

func (m *machine) runUntilOff(ctx context.Context) error {
	for {
		fresh, err := m.readIdentity()
		if err != nil {
			return err
		}
		if len(fresh) == 0 && !m.waitFirmware(ctx) {
			return nil
		}
		again, err := m.runOneBoot(ctx, fresh)
		for _, r := range m.waiting {
			r.answer <- "ok"
		}
		m.waiting = nil
		if err != nil || !again {
			return err
		}
	}
}

// waitFirmware returns false if the power is turned off meanwhile.
func (m *machine) waitFirmware(ctx context.Context) bool {
	timer := time.NewTimer(m.settings.Post)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		case r := <-m.requests:
			switch r.command {
			case Off, Lossy, Soft:
				return false // the request is answered when the supervisor ends
			case Reset:
				timer.Reset(m.settings.Post)
				r.answer <- "ok"
			case Reload:
				r.answer <- formatResult(m.reloadSettings(ctx))
			case Status:
				r.answer <- "ok " + string(StatePost)
			default:
				r.answer <- "the host is in its firmware"
			}
		}
	}
}

// runOneBoot reports whether another boot follows.
func (m *machine) runOneBoot(ctx context.Context, fresh []identityFile) (again bool, err error) {
	if err := m.group.removeSubgroups(); err != nil {
		return false, err
	}
	if err := m.mountDisk(); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, m.unmountDisk()) }()
	b, err := chooseBoot(m.Root())
	if err != nil {
		return false, err
	}
	if len(fresh) > 0 {
		stateroot := filepath.Join(m.Root(), "ostree/deploy", image.OS)
		if err := installFiles(fresh, b.deployment, stateroot); err != nil {
			return false, err
		}
		if err := m.forgetIdentity(); err != nil {
			return false, err
		}
	}
	m.logPower(bootEvent, b.entry.File, filepath.Base(b.deployment))
	start := m.startContainer
	if m.config.Kind == OnQemu {
		start = m.startQemu
	}
	g, err := start(ctx, b)
	if err != nil {
		return false, err
	}
	m.frozen = false
	code, again := m.serveUntilExit(ctx, g)
	m.logPower(ExitEvent, code)
	return again, nil
}

func (m *machine) serveUntilExit(ctx context.Context, g guest) (code int, again bool) {
	exited := make(chan struct{})
	var wg conc.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		code = g.wait()
		close(exited)
	})
	var next Command // command that ends this boot; "": there is none
	var cutAt time.Time
	kill := time.NewTicker(time.Hour)
	defer kill.Stop()
	cut := ctx.Done()
	end := func(c Command) {
		next, cutAt = c, time.Now()
		g.kill(cutAt)
		kill.Reset(20 * time.Millisecond) // only from now on: many hosts share the processors
	}
	for {
		select {
		case <-exited:
			return code, next == Reset || next == "" && code == rebootStatus
		case <-cut:
			cut = nil
			end(Off)
		case <-kill.C:
			if next != "" {
				g.kill(cutAt)
			}
		case r := <-m.requests:
			if ended := m.handleCommand(ctx, g, r); ended != "" {
				end(ended)
			}
		}
	}
}

// handleCommand carries out a command on a running host. It returns the command
// if this boot must end because of it. Off and Lossy are answered when the
// supervisor ends.
func (m *machine) handleCommand(ctx context.Context, g guest, r request) Command {
	switch r.command {
	case Off:
		return Off
	case Lossy:
		if m.loop == nil {
			r.answer <- "a directory host cannot lose unsynced data"
			return ""
		}
		if m.mounted { // else the host itself has it, and loses it with its power
			if err := disk.Lose(m.Root()); err != nil {
				r.answer <- formatResult(err)
				return ""
			}
		}
		return Off
	case Reset:
		m.waiting = append(m.waiting, r)
		return Reset
	case Soft:
		r.answer <- formatResult(g.pressPower())
	case Freeze, Thaw:
		frozen := r.command == Freeze
		err := g.setFrozen(frozen)
		if err == nil {
			m.frozen = frozen
		}
		r.answer <- formatResult(err)
	case Reload:
		r.answer <- formatResult(m.reloadSettings(ctx))
	case Status:
		state := StateOn
		if m.frozen {
			state = StateFrozen
		}
		r.answer <- "ok " + string(state)
	default:
		r.answer <- "no such command"
	}
	return ""
}

func formatResult(err error) string {
	if err != nil {
		return err.Error()
	}
	return "ok"
}

// These words start the lines of the power log.
const (
	bootEvent = "boot"
	// ExitEvent is the end of a boot, with the status of its container.
	ExitEvent = "exit"
	// FailEvent is the error that ended the supervisor.
	FailEvent = "fail"
)

func (m *machine) logPower(event string, about ...any) {
	f, err := os.OpenFile(m.PowerLog(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return
	}
	line := fmt.Sprintln(append([]any{time.Now().UnixMilli(), event}, about...)...)
	_, _ = fmt.Fprintln(f, strings.ReplaceAll(strings.TrimSpace(line), "\n", "; "))
	_ = f.Close()
}
