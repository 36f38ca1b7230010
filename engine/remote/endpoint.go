package remote

import (
	"fmt"
	"net"
	"strconv"
	"time"
)

// endpoint is a Target with all defaults filled in.
type endpoint struct {
	name            string // for messages
	host            string // to connect to
	port            int
	user            string
	hostKey         string // host:port to look up in known_hosts
	identities      []string
	identitiesNamed bool   // the identities are not the defaults
	identitiesOnly  bool   // do not try other keys of the agent
	agent           string // path of the agent's socket, or ""
	knownHosts      []string
	jump            []hop
	connectTimeout  time.Duration
	keepAlive       time.Duration
	keepAliveCount  int
	become          bool
	restrictions    restrictions
}

// shareKey is equal for endpoints that can share a connection: the route, the user and the accepted host keys are the same.
func (e endpoint) shareKey() string {
	e.name, e.jump, e.become = "", nil, false
	return fmt.Sprintf("%#v", e)
}

func (e endpoint) address() string { return net.JoinHostPort(e.host, strconv.Itoa(e.port)) }

func (e endpoint) userAndAddress() string { return e.user + "@" + e.address() }

func (e endpoint) newError(kind Kind, step string, err error, hint string) *Error {
	return &Error{Kind: kind, Host: e.name, Address: e.address(), User: e.user, Step: step, Hint: hint, Err: err}
}
