// Package simulator has worlds of hosts and etcd clusters that exist only in memory. A Site is the world: hosts that stage, hold,
// write, reboot and break on request, and clusters whose health follows from the hosts. A Bastion is the place of one run: it
// implements all interfaces of engine/rollout, and can be killed at any point.
//
// A site keeps a log of all operations, and has an observer of package laws, which no run may break under any faults: see
// Site.Violations.
//
// The clock is package time, so that deadlines of contexts follow it. Tests run inside a bubble of testing/synctest, where time
// passes only while everybody waits: twenty minutes of waiting for a host take none, several goroutines may sleep at once, and the
// order of events does not depend on the speed of the machine. The world has no goroutines: each call first lets all events
// happen that are due.
package simulator
