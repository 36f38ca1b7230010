// Package hostkeys checks the keys of hosts against known_hosts and RevokedHostKeys. It refuses every unknown key, and
// names the cause and the next step.
package hostkeys
