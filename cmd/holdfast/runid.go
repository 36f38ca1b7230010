package main

import (
	"crypto/rand"
	"encoding/hex"
	"time"
)

// newRunID names a run so that names sort by time. The 64 random bits keep runs
// of different bastions apart: a run owns each hold that has its ID.
func newRunID(now time.Time) string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails, says its documentation
	return now.UTC().Format("20060102-150405") + "-" + hex.EncodeToString(b)
}
