package sshconfig

import (
	"time"
)

// Target is a host and how to reach it. A zero field defaults to ssh_config, then to the documented default.
type Target struct {
	Name       string   // the host's name in messages; default Address
	Address    string   // name or IP address, also the name to look up in ssh_config; default Name
	Port       int      // default 22
	User       string   // default the user who runs the program
	Identities []string // private key files, tried before the agent's other keys; default those of ~/.ssh
	KnownHosts []string // known_hosts files, which must exist; default ~/.ssh/known_hosts and /etc/ssh/ssh_known_hosts
	ProxyJump  string   // "[user@]host[:port]", with commas between several, or "none"
	Config     string   // path of an ssh_config, "" for ~/.ssh/config, "none" for none
	Become     string   // "sudo" if Command.Become may be used, else ""

	ConnectTimeout time.Duration // until logged in, without the time for prompts; default 10 s
	KeepAlive      time.Duration // silence before a keepalive is sent; after three times this silence the connection ends; default 15 s
}
