package reboots

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"holdfast/cmd/holdfast-lab/internal/lab"
	"holdfast/engine"
)

// reboots counts the reboots of a host.
type reboots struct {
	full int
	soft int    // since the last boot of the kernel
	boot string // ID of this boot
}

// since returns the kind of the one reboot since earlier, "" if it was not one.
func (r reboots) since(earlier reboots) engine.RebootKind {
	switch another := r.boot != earlier.boot; {
	case another && r.full == earlier.full+1 && r.soft == 0:
		return engine.FullReboot
	case another && r.full == earlier.full && r.soft == 0:
		return engine.KexecReboot
	case !another && r.full == earlier.full && r.soft == earlier.soft+1:
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
	text, err := h.Output(ctx, "cat /proc/sys/kernel/random/boot_id; systemctl show --value --property=SoftRebootsCount")
	if err != nil {
		return r, err
	}
	boot, soft, _ := strings.Cut(text, "\n")
	r.boot = boot
	r.soft, err = strconv.Atoi(soft)
	return r, err
}

// checkReboot returns an error unless the host had one reboot since, of the kind of the way.
func checkReboot(ctx context.Context, h *lab.Host, before reboots, k key) error {
	after, err := countReboots(ctx, h)
	if err != nil {
		return err
	}
	if got := after.since(before); got != wayOf(k.Way).kind {
		return fmt.Errorf("the reboot was %s", cmp.Or(got, "neither one full reboot, nor one soft reboot, nor a kexec"))
	}
	return nil
}
