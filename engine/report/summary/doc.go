// Package summary summarizes a run at its end: the outcome of each host, the
// health of etcd, the state of the pools, and the next step.
package summary
