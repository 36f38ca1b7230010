package remote

import (
	"fmt"
	"net"
	"strconv"
	"time"
)

// endpoint is a Target with every question answered.
type endpoint struct {
	name            string // for messages
	host            string // what is connected to
	port            int
	user            string
	hostKey         string // host:port that known_hosts is searched for
	identities      []string
	identitiesNamed bool   // the identities were named, rather than being the defaults
	identitiesOnly  bool   // keys of the agent that are no identity are not tried
	agent           string // path of the agent's socket, or ""
	knownHosts      []string
	jump            []hop
	connectTimeout  time.Duration
	keepAlive       time.Duration
	keepAliveCount  int
	become          bool
	restrictions    restrictions
}

// shareKey is the same for endpoints to which one connection will do: everything that decides where it leads, who logs in and
// which host keys are accepted is equal.
func (e endpoint) shareKey() string {
	e.name, e.jump, e.become = "", nil, false
	return fmt.Sprintf("%#v", e)
}

func (e endpoint) address() string { return net.JoinHostPort(e.host, strconv.Itoa(e.port)) }

func (e endpoint) userAndAddress() string { return e.user + "@" + e.address() }

// newError makes an Error about this endpoint.
func (e endpoint) newError(kind Kind, step string, err error, hint string) *Error {
	return &Error{Kind: kind, Host: e.name, Address: e.address(), User: e.user, Step: step, Hint: hint, Err: err}
}
