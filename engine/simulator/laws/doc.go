// Package laws checks that no run of a simulated site breaks a promise of holdfast, under any faults: who may be disrupted, when,
// in which order and under whose hold.
//
// It states the promises in other words than the code. An Observer sees what happens on the hosts and in the journals of runs.
// It also knows what each run has gathered, because a run does not break a law by an event that it could not know, such as a host
// that became unavailable after the run had last gathered its facts.
package laws
