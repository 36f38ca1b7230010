//go:build race

package rollout_test

// TestSimulator plays fewer histories where races are looked for: each takes ten
// times as long then, and more of them tell no more about races.
const usualHistories, allHistories = 30, 1000

// One of so many moments of a run has an incident by default. A history that is played twice, and a fleet of many
// hosts, are for its results; a smaller one has the same goroutines.
const usualMoments, usualTwice, usualHosts = 12, 5, 120
