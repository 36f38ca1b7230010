// Package restore decides how an etcd cluster that has lost its quorum for good is restored from a snapshot, or from
// the data directory of a host. Next returns the next step, or the reason why no step is allowed. Only the hosts keep
// state between two steps: after each step, and after a crash, the state is gathered again, and Next decides again.
//
// The rules: No step is taken while a quorum lives or may live. A host that does not answer may have a living member,
// unless a person says that the host is lost; its silence proves nothing. The new data are complete and checked before
// any host's old data are touched. All old data are set aside before the new cluster starts.
package restore
