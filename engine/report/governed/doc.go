// Package governed describes how the governor slowed the staging near etcd, for
// the lines of a run and its summary.
package governed
