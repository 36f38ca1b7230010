//go:build !race

package rollout_test

// TestSimulator plays so many histories.
const usualHistories, allHistories = 250, 20_000
