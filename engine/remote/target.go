package remote

import (
	"context"
	"time"
)

// Target is a host and how to reach it. A zero field defaults to ssh_config, then to the documented default.
type Target struct {
	Name       string   // the host's name in messages; default Address
	Address    string   // name or IP address, also the name to look up in ssh_config; default Name
	Port       int      // default 22
	User       string   // default the user who runs the program
	Identities []string // private key files, tried before the agent's other keys; default those of ~/.ssh
	KnownHosts []string // known_hosts files, all of which must exist; default ~/.ssh/known_hosts and /etc/ssh/ssh_known_hosts
	ProxyJump  string   // "[user@]host[:port]", several with commas, or "none"
	Config     string   // path of an ssh_config, "" for ~/.ssh/config, "none" for none
	Become     string   // "sudo" if Command.Become may be used, else ""

	ConnectTimeout time.Duration // until logged in, without the time for prompts; default 10 s
	KeepAlive      time.Duration // silence before a keepalive is sent; three times that end the connection; default 15 s
}

// Secrets asks a person, a file or a command for secrets. Its methods are called only when a secret is needed, from several
// goroutines. An error stops the host that needs it. A Dialer asks once for each key file, a Host once for its password; an
// implementation with one password for many hosts remembers it.
type Secrets interface {
	// Passphrase returns the passphrase of a private key file. After a wrong one it is asked again, up to three times, for as
	// long as the answers differ.
	Passphrase(ctx context.Context, keyfile string) ([]byte, error)
	// BecomePassword returns the password sudo wants on the host, or nil if there is none.
	BecomePassword(ctx context.Context, host string) ([]byte, error)
}
