//go:build !race

package rollout_test

// usualHistories is the number of histories that TestSimulator plays with the slow tests.
// quickHistories is the number by default.
const quickHistories, usualHistories, allHistories = 15, 150, 20_000

// See race_test.go.
const (
	quickMoments, usualMoments = 30, 4
	quickTwice, usualTwice     = 3, 15
	usualHosts                 = 120
)
