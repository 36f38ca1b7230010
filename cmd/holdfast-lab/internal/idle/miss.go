package idle

import (
	"fmt"
	"time"
)

// Miss is a limit that a measurement exceeds.
type Miss struct {
	Text    string
	Delay   time.Duration // delay of commits or answers; 0: a slow disk does not explain the miss
	Certain bool          // no busy machine explains the miss
}

// commitSlack is the part of a delay that does not depend on the disk: the time
// between two writes of the probe, and the network.
const commitSlack = 100 * time.Millisecond

// IsExcused reports whether the miss is explained: by a busy machine; a long boot
// by a slow machine; or a delay by a disk on which a sync took as long as stall. A
// write may wait for the sync before it, and then for its own sync.
func (m Miss) IsExcused(load Load, stall time.Duration) bool {
	switch {
	case m.Certain:
		return false
	case load.IsBusy(), m.Delay == 0 && load.IsSlow():
		return true
	}
	return m.Delay > 0 && stall >= slowGap && m.Delay <= 2*stall+commitSlack
}

// DescribeStall returns the longest sync of a DiskWatch in words.
func DescribeStall(stall time.Duration) string {
	return fmt.Sprintf("while etcd was measured its disk took up to %d ms to sync 4 KiB", stall.Milliseconds())
}
