// Package etcd talks to one etcd cluster through tunnels to the hosts of its
// members. It gathers facts about members, leader, certificates and disk
// latencies. It moves the leader, takes snapshots, defragments databases, and
// changes the member list. It never asks the Kubernetes API, and never uses one
// member's answer for another member's health.
//
// Every operation except Scrape makes its own connections, so that it never
// uses a connection that a reboot has left half open. Every operation is
// bounded in time, even if a host accepts a connection and never answers.
// Answers of members are bounded in size, and control characters are removed
// from them.
package etcd
