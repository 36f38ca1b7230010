// Package summary sums up a run at its end: the outcome of each host, the health of etcd, how complete the pools
// are, and what to do next.
package summary
