//go:build race

package rollout_test

// TestSimulator plays fewer histories with the race detector: each history
// takes ten times as long, and more histories find no more races.
const quickHistories, usualHistories, allHistories = 30, 30, 1000

// usualMoments is the distance between two moments of a run that have an
// incident. usualTwice histories are played twice, and usualHosts is the size of
// a large fleet. All these tests are about their results, and smaller numbers
// start the same goroutines.
const (
	quickMoments, usualMoments = 12, 12
	quickTwice, usualTwice     = 5, 5
	usualHosts                 = 120
)
