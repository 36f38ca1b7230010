package engine

import (
	"encoding/hex"
	"time"
)

const runTimeLayout = "20060102-150405"

// RunIDBytes is the number of random bytes in the ID of a run.
const RunIDBytes = 8

// NewRunID returns the ID of a run that begins at the given time. IDs sort by
// time. The random bytes distinguish runs of the same second.
func NewRunID(began time.Time, random []byte) string {
	return began.UTC().Format(runTimeLayout) + "-" + hex.EncodeToString(random)
}

// ParseRunID returns the time at which the run with this ID began, by the clock
// of its bastion. It reports false if no run has such an ID.
func ParseRunID(id string) (began time.Time, ok bool) {
	const prefix = len(runTimeLayout)
	if len(id) != prefix+1+2*RunIDBytes {
		return time.Time{}, false
	}
	began, err := time.Parse(runTimeLayout, id[:prefix])
	random, notHex := hex.DecodeString(id[prefix+1:])
	return began, err == nil && notHex == nil && NewRunID(began, random) == id
}
