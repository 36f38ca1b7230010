package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"holdfast/cmd/holdfast-lab/internal/disk"
	"holdfast/cmd/holdfast-lab/internal/host"
	"holdfast/cmd/holdfast-lab/internal/spec"
	"holdfast/engine/clock"
)

// Host is one machine of the lab.
type Host struct {
	spec.Host
	lab    *Lab
	folder host.Folder
}

// Power is an operation of a power switch.
type Power string

const (
	// On turns the power on. It returns as soon as the firmware runs, before the
	// system is up.
	On Power = "on"
	// Off cuts the power. Lossy also loses data that were not synced to the disk.
	Off   Power = "off"
	Lossy Power = "lossy"
	// Soft presses the power button. It returns before the host is down.
	Soft Power = "soft"
	// Reset cuts the power and turns it on again.
	Reset Power = "reset"
)

// Power operates the power switch.
func (h *Host) Power(ctx context.Context, p Power) error {
	if err := h.switchPower(ctx, p); err != nil {
		return fmt.Errorf("power %s %s: %w", p, h.Name, err)
	}
	return nil
}

func (h *Host) switchPower(ctx context.Context, p Power) error {
	if p == On {
		return h.powerOn(ctx)
	}
	_, err := h.folder.Tell(ctx, host.Command(p))
	if p == Reset && errors.Is(err, host.ErrOff) {
		return h.powerOn(ctx)
	}
	if err != nil && !errors.Is(err, host.ErrOff) {
		return err
	}
	if p == Off || p == Lossy {
		return h.folder.WaitOff(ctx)
	}
	return err
}

func (h *Host) powerOn(ctx context.Context) error {
	state, err := h.folder.State(ctx)
	if err != nil || state != host.StateOff {
		return err
	}
	if err := h.checkMains(); err != nil {
		return err
	}
	if err := h.folder.WaitOff(ctx); err != nil {
		return err
	}
	if err := h.lab.startDetached(ctx, h.supervisorLog(), "supervise", string(h.folder)); err != nil {
		return err
	}
	return h.waitSupervisor(ctx)
}

func (h *Host) supervisorLog() string { return h.lab.path("hosts", h.Name, "supervisor.log") }

func (h *Host) supervisorError() error {
	said, err := os.ReadFile(h.supervisorLog())
	if errors.Is(err, os.ErrNotExist) || err == nil && len(said) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("its supervisor ended: %s", strings.TrimSpace(string(said)))
}

func (h *Host) waitSupervisor(ctx context.Context) error {
	for deadline := time.Now().Add(10 * time.Second); ; {
		state, err := h.folder.State(ctx)
		if err != nil || state != host.StateOff {
			return err
		}
		if err := h.supervisorError(); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return errors.New("its supervisor does not answer")
		}
		if err := clock.Sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

// State returns the host's power state.
func (h *Host) State(ctx context.Context) (host.State, error) { return h.folder.State(ctx) }

// Freeze hangs the host: all its processes stop, and connections stay open.
func (h *Host) Freeze(ctx context.Context) error { return h.sendCommand(ctx, host.Freeze) }

// Thaw resumes a frozen host.
func (h *Host) Thaw(ctx context.Context) error { return h.sendCommand(ctx, host.Thaw) }

func (h *Host) sendCommand(ctx context.Context, c host.Command) error {
	if _, err := h.folder.Tell(ctx, c); err != nil {
		return fmt.Errorf("%s %s: %w", c, h.Name, err)
	}
	return nil
}

// Cut pulls the network cable of the host until Heal, even across power cycles.
func (h *Host) Cut(ctx context.Context) error {
	return h.changeSettings(ctx, func(s *host.Settings) { s.Cut = true })
}

// Heal plugs the network cable in again.
func (h *Host) Heal(ctx context.Context) error {
	return h.changeSettings(ctx, func(s *host.Settings) { s.Cut = false })
}

// Slow limits the host's disk. A zero Speed removes the limit.
func (h *Host) Slow(ctx context.Context, speed disk.Speed) error {
	if h.lab.state.Options.Kind == host.OnDir {
		return fmt.Errorf("slow %s: a directory host has no disk of its own", h.Name)
	}
	if t, err := disk.OpenThrottle(); err != nil {
		return fmt.Errorf("slow %s: %w", h.Name, err)
	} else if err := t.Close(); err != nil {
		return fmt.Errorf("slow %s: %w", h.Name, err)
	}
	return h.changeSettings(ctx, func(s *host.Settings) { s.Speed = speed })
}

// SetPost sets how long the firmware takes before each boot except the first.
func (h *Host) SetPost(ctx context.Context, d time.Duration) error {
	return h.changeSettings(ctx, func(s *host.Settings) { s.Post = d })
}

func (h *Host) changeSettings(ctx context.Context, change func(*host.Settings)) error {
	s, err := h.folder.Settings()
	if err != nil {
		return err
	}
	change(&s)
	if err := h.folder.SetSettings(s); err != nil {
		return err
	}
	err = h.sendCommand(ctx, host.Reload)
	if errors.Is(err, host.ErrOff) {
		return nil
	}
	return err
}

// PowerEvent is one line of a host's power log.
type PowerEvent struct {
	At   time.Time
	Text string // "boot ENTRY DEPLOYMENT", "exit CODE" or "fail ERROR"
}

// PowerLog lists the boots and exits of the host, oldest first.
func (h *Host) PowerLog() ([]PowerEvent, error) {
	raw, err := os.ReadFile(h.folder.PowerLog())
	if err != nil {
		return nil, fmt.Errorf("read power log: %w", err)
	}
	return parsePowerLog(string(raw))
}

func parsePowerLog(log string) ([]PowerEvent, error) {
	var events []PowerEvent
	for line := range strings.Lines(log) {
		var ms int64
		stamp, text, ok := strings.Cut(strings.TrimSpace(line), " ")
		if _, err := fmt.Sscan(stamp, &ms); err != nil || !ok {
			return nil, fmt.Errorf("read power log: line %q", line)
		}
		events = append(events, PowerEvent{At: time.UnixMilli(ms), Text: text})
	}
	return events, nil
}

// Image returns the path of the host's disk.
func (h *Host) Image() string { return h.folder.Image() }
