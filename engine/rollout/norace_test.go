//go:build !race

package rollout_test

// TestSimulator plays so many histories.
const usualHistories, allHistories = 400, 20_000

// usualPoints is how many points of a play there are to the one at which it is killed, cut or lost.
const usualPoints = 1
