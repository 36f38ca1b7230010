package reboots

import (
	"context"
	"time"

	"holdfast/cmd/holdfast-lab/internal/image"
	"holdfast/cmd/holdfast-lab/internal/lab"
	"holdfast/cmd/holdfast-lab/internal/spec"
	"holdfast/engine/clock"
)

// virtualHCL describes a host with a kernel of its own, as a kexec needs it.
const virtualHCL = `
pool "worker" {}
host "worker-0" {
  pool    = "worker"
  machine = "qemu"
}
`

// virtualTimeout is runTimeout in qemu, whose processor is emulated.
const virtualTimeout = 30 * time.Minute

func (b *Bench) bringUpVirtual(ctx context.Context) error {
	s, err := spec.Parse("reboots.hcl", []byte(virtualHCL))
	if err != nil {
		return err
	}
	if err := b.Lab.Up(ctx, s, lab.Options{Suite: image.TrixieKernel}); err != nil {
		return err
	}
	text, err := b.readInventory()
	if err != nil {
		return err
	}
	text, err = allowKexecs(text)
	if err != nil {
		return err
	}
	b.intact = true
	return b.saveInventory(text)
}

func allowKexecs(text string) (string, error) {
	return insertLines(text, [][2]string{{"pool \"worker\" {\n", "  reboot {\n    kexec = \"auto\"\n  }\n"}})
}

// measureVirtual updates the host to the OS of the first two that it does not run. It makes a new host only after a run that
// failed, because a boot takes minutes.
func (b *Bench) measureVirtual(ctx context.Context, k key, r *run) error {
	ctx, cancel := context.WithTimeout(ctx, virtualTimeout+2*b.Firmware)
	defer cancel()
	if !b.intact {
		if err := b.Lab.Reset(ctx); err != nil {
			return err
		}
	}
	b.intact = false
	if err := clock.Sleep(ctx, settleTime); err != nil {
		return err
	}
	h := b.Lab.Hosts()[0]
	r.Host = h.Name
	if err := h.SetPost(ctx, b.Firmware); err != nil {
		return err
	}
	commit, err := b.otherCommit(ctx, h)
	if err != nil {
		return err
	}
	before, err := countReboots(ctx, h)
	if err != nil {
		return err
	}
	m, err := b.updateHost(ctx, k, h.Name, commit)
	if err != nil {
		return err
	}
	if err := checkReboot(ctx, h, before, k); err != nil {
		return err
	}
	b.intact = true
	return r.addTimes(m)
}

func (b *Bench) otherCommit(ctx context.Context, h *lab.Host) (string, error) {
	booted, _, err := h.Booted(ctx)
	if err != nil {
		return "", err
	}
	first, second, err := b.Lab.Commits()
	if booted == second {
		return first, err
	}
	return second, err
}
