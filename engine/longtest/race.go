//go:build race

package longtest

// RaceDetector reports whether the race detector is on. It takes memory of its own, and time.
const RaceDetector = true
