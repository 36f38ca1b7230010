package bastion

import (
	"crypto/rand"
	"encoding/hex"
	"time"

	"holdfast/engine"
)

// NewRunID returns a run ID that sorts by time. It has 64 random bits, because a run
// owns every hold with its ID, and no two bastions may use the same ID.
func NewRunID(now time.Time) string {
	b := make([]byte, engine.RunIDBytes)
	_, _ = rand.Read(b) // documented to never fail
	return engine.NewRunID(now, b)
}

// NewHoldID returns the ID of a hold that belongs to no run.
func NewHoldID() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // documented to never fail
	return "m-" + hex.EncodeToString(b)
}
