//go:build !race

package rollout_test

// TestSimulator plays so many histories.
const usualHistories, allHistories = 1000, 20_000
