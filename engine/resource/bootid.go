package resource

import (
	"fmt"
	"strconv"
	"strings"
)

// BootID identifies a boot of a host: the boot ID of its kernel and, after soft
// reboots, + and their number. A soft reboot restarts everything but the kernel,
// and keeps the boot ID of the kernel. "" means that the boot is not known. Scripts
// on hosts read and compare the same text (hostscript.BootIDScript).
type BootID string

// ParseBootID returns the boot ID that a host printed.
func ParseBootID(text string) (BootID, error) {
	kernel, count, soft := strings.Cut(text, "+")
	if n, err := strconv.ParseUint(count, 10, 32); soft && (err != nil || n == 0 || strconv.FormatUint(n, 10) != count) || !isUUID(kernel) {
		return "", fmt.Errorf("%.80q is no ID of a boot", text)
	}
	return BootID(text), nil
}

func isUUID(s string) bool {
	const digits, example = "0123456789abcdef", "6919b4ee-2319-4ba2-95ce-87d5d618e95a"
	if len(s) != len(example) {
		return false
	}
	for i, c := range s {
		if example[i] == '-' && c != '-' || example[i] != '-' && !strings.ContainsRune(digits, c) {
			return false
		}
	}
	return true
}

// Kernel returns the boot ID of the kernel.
func (b BootID) Kernel() string {
	kernel, _, _ := strings.Cut(string(b), "+")
	return kernel
}

// SoftReboots returns how often the host has soft rebooted since its kernel has
// booted.
func (b BootID) SoftReboots() int {
	_, count, _ := strings.Cut(string(b), "+")
	n, _ := strconv.Atoi(count) // "" is 0
	return n
}

// SharesKernel reports whether both boots are known and run on the same boot of the
// kernel: they are the same, or only soft reboots lie between them. Then the state
// of the kernel is still the old one.
func (b BootID) SharesKernel(other BootID) bool { return b != "" && b.Kernel() == other.Kernel() }

// IsSoftRebootOf reports whether both boots are known and the host has got from the
// other one to this one by soft reboots alone.
func (b BootID) IsSoftRebootOf(other BootID) bool {
	return b.SharesKernel(other) && b.SoftReboots() > other.SoftReboots()
}
