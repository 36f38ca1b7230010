// Package simulator has worlds of hosts and etcd clusters that exist only in
// memory. A Site is such a world. Its hosts stage, hold, write, reboot and
// break on request, and the health of its clusters follows from the hosts. A
// Bastion is the place of one run: it implements all interfaces of
// engine/rollout, and can be killed at any point.
//
// A NodeCluster is a Kubernetes cluster whose nodes are hosts: kubelets, controllers
// and budgets follow from the hosts and from time, and people and other tools change it.
//
// A site keeps a log of all operations. Its observer, from package laws, checks
// that no run breaks a law under any faults: see Site.Violations.
//
// The clock is package time, because deadlines of contexts use it. Tests run
// inside a bubble of testing/synctest, where time passes only while all
// goroutines wait. So twenty minutes of waiting for a host take no real time,
// several goroutines may sleep at once, and the order of events does not depend
// on the speed of the machine. The world has no goroutines: each call first
// runs all events that are due.
package simulator
