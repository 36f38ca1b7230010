package main

import (
	"crypto/rand"
	"encoding/hex"
	"time"
)

// newRunID names a run so that names sort by time and do not collide.
func newRunID(now time.Time) string {
	b := make([]byte, 2)
	_, _ = rand.Read(b) // never fails, says its documentation
	return now.UTC().Format("20060102-150405") + "-" + hex.EncodeToString(b)
}
