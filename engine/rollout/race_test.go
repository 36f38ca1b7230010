//go:build race

package rollout_test

// TestSimulator plays fewer histories where races are looked for: each takes ten
// times as long then, and more of them tell no more about races.
const usualHistories, allHistories = 30, 1000
