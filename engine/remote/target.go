package remote

import (
	"context"
	"time"
)

// Target says which host to connect to and how. The zero value of a field means: what ssh_config says, else the default.
type Target struct {
	Name       string   // the host's name in messages; default Address
	Address    string   // name or IP address, also what ssh_config is looked up with; default Name
	Port       int      // default 22
	User       string   // default the user who runs the program
	Identities []string // private key files, tried before the agent's other keys; default those of ~/.ssh
	KnownHosts []string // known_hosts files, all of which must exist; default ~/.ssh/known_hosts and /etc/ssh/ssh_known_hosts
	ProxyJump  string   // "[user@]host[:port]", several with commas, or "none"
	Config     string   // path of an ssh_config, "" for ~/.ssh/config, "none" for none
	Become     string   // "sudo" if Command.Become may be used, else ""

	ConnectTimeout time.Duration // until logged in, without the time a person takes to answer; default 10 s
	KeepAlive      time.Duration // silence after which a sign of life is asked for; three of them end the connection; default 15 s
}

// Secrets asks a person, a file or a command for what only they know. The methods are called when the secret is needed and not
// before, from several goroutines; an error stops the host that needs it. A Dialer asks for each key file once, a Host for its
// password once; an implementation that serves many hosts with one password remembers it.
type Secrets interface {
	// Passphrase returns the passphrase of a private key file. After a wrong one it is asked again, up to three times, for as
	// long as the answers differ.
	Passphrase(ctx context.Context, keyfile string) ([]byte, error)
	// BecomePassword returns the password sudo wants on the host, or nil if there is none.
	BecomePassword(ctx context.Context, host string) ([]byte, error)
}
