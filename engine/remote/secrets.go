package remote

import "context"

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
