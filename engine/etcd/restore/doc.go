// Package restore decides how an etcd cluster that has lost its quorum for good is made again out of a snapshot, or out of
// the data directory that a host has left. Next returns the next step, or the reason why there must be none. Nothing is
// remembered between two steps but on the hosts: after each step, and after a crash, the state is gathered again, and Next
// decides again.
//
// The rules: nothing begins while a quorum lives, or may live. A host that does not answer may have a living member, unless
// a person says that it is lost; nothing is inferred from its absence. The new data are complete and checked before the old
// data of any host are touched. All old data are set aside before the new cluster starts.
package restore
