// Package remote connects to one host over SSH. It runs scripts, streams data to them, tunnels connections out of the
// host and forwards connections back. It does not depend on plans, etcd or ostree. It never retries after a lost
// connection: the caller decides that.
//
// A Dialer turns a Target into a Host. A Host is one TCP connection that lives as long as the run; every Run, Dial and
// Listen is a channel inside it. Package sshconfig fills in a Target from ssh_config. Package hostkeys checks host
// keys. The check against known_hosts cannot be switched off.
//
// # Scripts
//
// A command line on a host is one of three constants. Scripts, data and passwords travel on standard input, so that
// they do not appear in a process list or in sudo's log. A script runs with LC_ALL=C and starts only after it has
// arrived whole. If the connection breaks while a script runs (Lost, Timeout, Canceled), the script may continue to run
// on the host.
//
// # Jump hosts
//
// Hosts share a connection to a jump host if they would connect to it with the same user, keys, known_hosts and
// options.
//
// # Differences from OpenSSH
//
// A jump host uses its own stanza of ssh_config, and also the Target's identities and known_hosts. An encrypted key is
// tried only if there are Secrets to unlock it. SHA-1 signatures (ssh-rsa) and DSA are not accepted from hosts.
package remote
