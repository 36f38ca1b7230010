// Package content serves the mirror of the bastion to hosts, each through its own SSH connection: a read-only HTTP
// server behind a port of the host's loopback. It divides the bandwidth fairly between hosts, and trusts nothing that a
// host sends.
package content
