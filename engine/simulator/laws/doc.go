// Package laws checks that no run of a simulated site breaks a promise of
// holdfast under any faults. The promises say which hosts may be disrupted,
// when, in which order and under whose hold.
//
// The laws share no code with holdfast. An Observer has the events on the hosts
// and in the journals of runs. It also has the facts that each run has
// gathered, because an event that the run could not know breaks no law: for
// example, a host may become unavailable after the run has gathered its facts
// for the last time.
package laws
