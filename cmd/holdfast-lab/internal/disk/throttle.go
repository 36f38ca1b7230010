package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Speed limits a disk; zero means unlimited.
type Speed struct {
	// BytesPerSecond and IOPS limit reads and writes separately.
	BytesPerSecond uint64 `json:"bytes_per_second,omitempty"`
	IOPS           uint64 `json:"iops,omitempty"`

	// WritesOnly leaves reads unlimited.
	WritesOnly bool `json:"writes_only,omitempty"`
}

// Throttle limits devices through the root group of the blkio controller of
// cgroup v1. In the root group, a limit applies to the I/O of processes, to
// write-back and to the journal.
type Throttle struct{ dir *os.File }

// ErrNoThrottle means that this machine cannot slow disks down.
var ErrNoThrottle = errors.New("slow disks need the blkio controller of cgroup v1, and this machine does not mount it")

// OpenThrottle finds the controller. The returned Throttle keeps working if
// something is mounted over /sys/fs/cgroup later.
func OpenThrottle() (*Throttle, error) {
	const dir = "/sys/fs/cgroup/blkio"
	if _, err := os.Stat(dir + "/blkio.throttle.write_bps_device"); err != nil {
		return nil, ErrNoThrottle
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open blkio controller: %w", err)
	}
	return &Throttle{dir: f}, nil
}

// Limit sets the speed of a block device.
func (t *Throttle) Limit(device string, s Speed) error {
	raw, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(device), "dev"))
	if err != nil {
		return fmt.Errorf("find device number: %w", err)
	}
	number := strings.TrimSpace(string(raw))
	reads := s
	if s.WritesOnly {
		reads = Speed{}
	}
	for file, value := range map[string]uint64{
		"read_bps": reads.BytesPerSecond, "write_bps": s.BytesPerSecond,
		"read_iops": reads.IOPS, "write_iops": s.IOPS,
	} {
		path := fmt.Sprintf("/proc/self/fd/%d/blkio.throttle.%s_device", t.dir.Fd(), file)
		if err := os.WriteFile(path, fmt.Appendf(nil, "%s %d", number, value), 0); err != nil {
			return fmt.Errorf("limit %s of %s: %w", file, device, err)
		}
	}
	return nil
}

// Close closes the controller. Limits stay.
func (t *Throttle) Close() error { return t.dir.Close() }
