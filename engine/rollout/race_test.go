//go:build race

package rollout_test

// TestSimulator plays fewer histories with the race detector: each history
// takes ten times as long, and more histories find no more races.
const usualHistories, allHistories = 30, 1000

// usualMoments is the distance between two moments of a run that have an
// incident by default. usualTwice histories are played twice, and usualHosts is
// the size of a large fleet. Both tests are about their results, and smaller
// numbers start the same goroutines.
const usualMoments, usualTwice, usualHosts = 12, 5, 120
