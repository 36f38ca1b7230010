//go:build !race

package rollout_test

// TestSimulator plays so many histories.
const usualHistories, allHistories = 1500, 20_000
