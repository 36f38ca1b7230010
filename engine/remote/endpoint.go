package remote

import (
	"fmt"
	"net"
	"strconv"
	"time"
)

// sshEndpoint is a Target with all defaults filled in.
type sshEndpoint struct {
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
func (e sshEndpoint) shareKey() string {
	e.name, e.jump, e.become = "", nil, false
	return fmt.Sprintf("%#v", e)
}

func (e sshEndpoint) address() string { return net.JoinHostPort(e.host, strconv.Itoa(e.port)) }

func (e sshEndpoint) userAndAddress() string { return e.user + "@" + e.address() }
