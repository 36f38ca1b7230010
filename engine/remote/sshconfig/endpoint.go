package sshconfig

import (
	"fmt"
	"net"
	"strconv"
	"time"
)

// Endpoint is a Target with all defaults filled in.
type Endpoint struct {
	Name               string // for messages
	host               string // to connect to
	port               int
	User               string
	HostKey            string // host:port to look up in known_hosts
	HostKeyAliased     bool   // HostKey is a HostKeyAlias
	Identities         []string
	IdentitiesNamed    bool   // the identities are not the defaults; there may be none
	IdentitiesRequired bool   // the identities are of the inventory, so they must be readable
	IdentitiesOnly     bool   // do not try other keys of the agent
	Agent              string // path of the agent's socket, or ""
	KnownHosts         []string
	Jump               []Hop
	jump               string // as written
	ProxyCommand       ProxyCommand
	ConnectTimeout     time.Duration
	KeepAlive          time.Duration
	KeepAliveCount     int
	Become             bool
	Restrictions       Restrictions
}

// ProxyCommand is a command that connects instead of holdfast, unless a jump host does. Without a Text there is none.
type ProxyCommand struct {
	Text string // may contain a password
	At   string // file:line, for messages
}

// ShareKey returns a text that is equal for endpoints that can share a connection after the same jump hosts: all other
// settings but Name and Become are equal.
func (e Endpoint) ShareKey() string {
	e.Name, e.Jump, e.jump, e.Become = "", nil, "", false
	return fmt.Sprintf("%#v", e)
}

// Address returns host:port.
func (e Endpoint) Address() string { return net.JoinHostPort(e.host, strconv.Itoa(e.port)) }

// UserAndAddress returns user@host:port.
func (e Endpoint) UserAndAddress() string { return e.User + "@" + e.Address() }

// route returns a text that is equal for endpoints with the same jump hosts, or with the same ProxyCommand; "" without either.
func (e Endpoint) route() string {
	if len(e.Jump) > 0 {
		return e.jump
	}
	return e.ProxyCommand.Text
}
