// Package membersview shows how the members of an etcd cluster change: the
// planned steps, and each step of a run.
package membersview
