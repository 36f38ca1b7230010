// Package hostkeys checks the keys that hosts show against known_hosts and RevokedHostKeys. It accepts no key that is unknown,
// and names the cause and the next step in its refusal.
package hostkeys
