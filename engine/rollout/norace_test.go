//go:build !race

package rollout_test

// TestSimulator plays so many histories.
const usualHistories, allHistories = 150, 20_000

const usualMoments, usualTwice, usualHosts = 4, 15, 150 // see race_test.go
