package remote

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast/engine/remote/sshconfig"
	"holdfast/engine/textutil"
)

// Kind classifies errors by the action that they need.
type Kind int

// The kinds of Error.
const (
	Unreachable     Kind = iota + 1 // no route, no answer, or no SSH greeting in time
	Refused                         // the host answers, but nothing listens
	Resolve                         // the name has no address
	HostKeyUnknown                  // known_hosts has no entry for the host
	HostKeyMismatch                 // known_hosts has another key, a revoked one, or the certificate is not valid
	Auth                            // wrong user or key
	Passphrase                      // a private key stays locked
	NoShell                         // logged in, but the account runs no POSIX shell
	NoSudo                          // sudo is missing or does not let the user through
	SudoPassword                    // sudo wants a password: there is none, or it is wrong
	Forward                         // the host does not open this tunnel or forward
	Input                           // the data to be sent could not be read
	Lost                            // the connection ended while it was used
	TooMuch                         // the host printed more than its limit
	Timeout                         // the time given is over
	Canceled                        // the caller canceled
	Config                          // target, ssh_config, known_hosts or key files are not usable
)

var kindNames = [...]string{
	Unreachable: "unreachable", Refused: "refused", Resolve: "unknown name", HostKeyUnknown: "unknown host key",
	HostKeyMismatch: "wrong host key", Auth: "login refused", Passphrase: "locked key", NoShell: "no shell", NoSudo: "no sudo",
	SudoPassword: "sudo password", Forward: "forwarding refused", Input: "unreadable input", Lost: "connection lost", TooMuch: "too much output",
	Timeout: "timeout", Canceled: "canceled", Config: "configuration",
}

// String returns the kind in one or two words, for tables.
func (k Kind) String() string {
	if k > 0 && int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", int(k))
}

// Error is the type of all errors of this package that concern a host.
type Error struct {
	Kind    Kind
	Host    string // Target.Name
	Address string // host:port of the connection
	User    string // who logs in
	Step    string // the action and its object
	Hint    string // advice, or ""
	Err     error  // the cause
	Silent  bool   // the host itself has sent nothing; false if a jump host, a ProxyCommand or the bastion has failed

	LoginFailed bool // a login was begun and not accepted, so sshd may count it against the address that it came from
}

// Error returns one line that is safe to print and contains no secret.
func (e *Error) Error() string {
	parts := make([]string, 0, 3)
	for _, s := range []string{e.Host, e.Step} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	s := strings.Join(parts, ": ")
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return oneLine(s)
}

// Cause returns the step and its error without the host and the hint: one line that is safe to print.
func (e *Error) Cause() string { return oneLine(fmt.Sprintf("%s: %v", e.Step, e.Err)) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the outermost *Error in err, or 0 if there is none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return 0
}

// RefusalPause is the time between failed logins to one address after which sshd still accepts connections: from OpenSSH 9.8
// on, it drops those of an address whose failed logins have added up to more than 15 s, 5 s for each (PerSourcePenalties).
const RefusalPause = 6 * time.Second

// HasLoginFailed reports whether the host that err is about has refused a login, or ended the connection during one.
func HasLoginFailed(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.LoginFailed
}

// maxQuoted bounds text of a host in an error, in bytes.
const maxQuoted = 2000

func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxQuoted {
		s = s[:maxQuoted] + "…"
	}
	return textutil.Printable(s)
}

// endpoint is the end of a connection. Its errors contain its name, address and
// user.
type endpoint struct{ sshconfig.Endpoint }

func (e endpoint) newError(kind Kind, step string, err error, hint string) *Error {
	return &Error{Kind: kind, Host: e.Name, Address: e.Address(), User: e.User, Step: step, Hint: hint, Err: err}
}
