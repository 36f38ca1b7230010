//go:build !race

package rollout_test

// histories is how many of them TestSimulator plays.
const histories = 10000
