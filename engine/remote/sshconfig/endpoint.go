package sshconfig

import (
	"fmt"
	"net"
	"strconv"
	"time"
)

// Endpoint is a Target with all defaults filled in.
type Endpoint struct {
	Name            string // for messages
	host            string // to connect to
	port            int
	User            string
	HostKey         string // host:port to look up in known_hosts
	Identities      []string
	IdentitiesNamed bool   // the identities are not the defaults
	IdentitiesOnly  bool   // do not try other keys of the agent
	Agent           string // path of the agent's socket, or ""
	KnownHosts      []string
	Jump            []Hop
	ConnectTimeout  time.Duration
	KeepAlive       time.Duration
	KeepAliveCount  int
	Become          bool
	Restrictions    Restrictions
}

// ShareKey returns a text that is equal for endpoints that can share a connection after the same jump hosts: all other
// settings but Name and Become are equal.
func (e Endpoint) ShareKey() string {
	e.Name, e.Jump, e.Become = "", nil, false
	return fmt.Sprintf("%#v", e)
}

// Address returns host:port.
func (e Endpoint) Address() string { return net.JoinHostPort(e.host, strconv.Itoa(e.port)) }

// UserAndAddress returns user@host:port.
func (e Endpoint) UserAndAddress() string { return e.User + "@" + e.Address() }
