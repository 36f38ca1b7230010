package sshtest

import (
	"net"
	"strconv"
	"sync"

	"golang.org/x/crypto/ssh"
)

// forwards holds the ports on which the server listens for a client.
type forwards struct {
	conn   *ssh.ServerConn
	server *Server

	mu        sync.Mutex
	listeners map[string]net.Listener
}

// forwardRequest is the payload of tcpip-forward and its cancellation, RFC 4254 section 7.1.
type forwardRequest struct {
	Host string
	Port uint32
}

func (r forwardRequest) address() string { return net.JoinHostPort(r.Host, strconv.Itoa(int(r.Port))) }

func (f *forwards) listenFor(payload []byte) (ok bool, reply []byte) {
	var r forwardRequest
	if err := ssh.Unmarshal(payload, &r); err != nil || f.server.config.NoForward {
		return false, nil
	}
	l, err := net.Listen("tcp", r.address())
	if err != nil {
		return false, nil
	}
	if r.Port == 0 {
		r.Port = uint32(l.Addr().(*net.TCPAddr).Port)
		reply = ssh.Marshal(struct{ Port uint32 }{r.Port})
	}
	f.mu.Lock()
	f.listeners[r.address()] = l
	f.mu.Unlock()
	f.server.startWork(func() { f.acceptConns(l, r) })
	return true, reply
}

func (f *forwards) cancelForward(payload []byte) bool {
	var r forwardRequest
	if err := ssh.Unmarshal(payload, &r); err != nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	l, ok := f.listeners[r.address()]
	if ok {
		_ = l.Close()
		delete(f.listeners, r.address())
	}
	return ok
}

func (f *forwards) closeAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.listeners {
		_ = l.Close()
	}
}

func (f *forwards) acceptConns(l net.Listener, r forwardRequest) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		from := c.RemoteAddr().(*net.TCPAddr)
		channel, requests, err := f.conn.OpenChannel("forwarded-tcpip", ssh.Marshal(struct {
			Host       string
			Port       uint32
			OriginHost string
			OriginPort uint32
		}{r.Host, r.Port, from.IP.String(), uint32(from.Port)}))
		if err != nil {
			_ = c.Close()
			continue
		}
		f.server.startWork(func() { ssh.DiscardRequests(requests) })
		f.server.startWork(func() { copyBothWays(channel, c) })
	}
}
