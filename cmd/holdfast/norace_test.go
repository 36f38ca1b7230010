//go:build !race

package main

// raceDetector reports whether the tests look for races.
const raceDetector = false
