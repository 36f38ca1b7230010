//go:build !race

package rollout_test

// TestSimulator plays so many histories.
const usualHistories, allHistories = 250, 20_000

const usualMoments, usualTwice, usualHosts = 3, 40, 250 // see race_test.go
