// Package etcd talks to one etcd cluster through tunnels to the hosts of its
// members: who is a member and how it is, who leads, how fast the disks are;
// it moves the leader and takes snapshots. It never asks the Kubernetes API
// and never uses one member's answer for another's health.
//
// Every operation makes its own connections, so that it never trusts one that
// a reboot has left half open, and every operation is bounded in time even if
// a host accepts a connection and then says nothing. What a member answers is
// bounded in size and cleaned of control characters before it gets out.
package etcd
