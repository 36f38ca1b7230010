// Package governed says in words how the governor paced the staging near etcd,
// for the lines of a run and its summary.
package governed
