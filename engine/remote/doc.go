// Package remote is one host over SSH: it runs scripts, streams data to them, tunnels connections out of the host and forwards
// connections back. It knows nothing of plans, etcd or ostree, and it never retries: the caller decides
// about a lost connection.
//
// A Dialer turns a Target into a Host. A Host is one TCP connection that lives as long as the run; every Run, Dial and Listen is
// a channel inside it. The package sshconfig fills in a Target from ssh_config, and hostkeys checks host keys. Host keys are always checked
// against known_hosts; there is no way to switch that off.
//
// # Scripts
//
// The command line a host sees is one of three constants; scripts, data and passwords travel on standard input, so that none of
// them shows in a process list or in sudo's log. A script runs with LC_ALL=C and starts only after it arrived whole. Where the
// connection breaks while a script runs (Lost, Timeout, Canceled), the script may go on running on the host.
//
// # Jump hosts
//
// Connections to jump hosts are shared by hosts that would make the very same one: with the same user, keys, known_hosts and options.
//
// # Differences from OpenSSH
//
// Jump hosts use the Target's identities and known_hosts as well as their own stanza of ssh_config. An encrypted key is only
// tried if there are Secrets to unlock it. SHA-1 signatures (ssh-rsa) and DSA are not accepted from hosts.
package remote
