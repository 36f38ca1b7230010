// Package etcd talks to one etcd cluster through tunnels to the hosts of its
// members. It gathers facts about members, leader and disk latencies, moves the
// leader, and takes snapshots. It never asks the Kubernetes API and never uses
// one member's answer for another's health.
//
// Every operation makes its own connections, so that it never uses one that a
// reboot has left half open. Every operation is bounded in time, even if a host
// accepts a connection and never answers. Answers of members are bounded in
// size and cleaned of control characters.
package etcd
