//go:build race

package rollout_test

// histories is how many of them TestSimulator plays where races are looked for:
// each takes ten times as long then, and more of them tell no more about races.
const histories = 1000
