// Package membersview shows how the members of an etcd cluster change: the steps to come, and each step of a run.
package membersview
