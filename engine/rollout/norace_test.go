//go:build !race

package rollout_test

// usualHistories is the number of histories that TestSimulator plays by
// default.
const usualHistories, allHistories = 150, 20_000

const usualMoments, usualTwice, usualHosts = 4, 15, 150 // see race_test.go
