package sshtest

import (
	"errors"
	"net"
	"strconv"
	"sync"
	"time"

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
		channel, requests, err := f.openChannel(r, c.RemoteAddr().(*net.TCPAddr))
		if err != nil {
			_ = c.Close()
			continue
		}
		f.server.startWork(func() { ssh.DiscardRequests(requests) })
		f.server.startWork(func() { copyBothWays(channel, c) })
	}
}

func (f *forwards) openChannel(r forwardRequest, from *net.TCPAddr) (ssh.Channel, <-chan *ssh.Request, error) {
	return f.conn.OpenChannel("forwarded-tcpip", ssh.Marshal(struct {
		Host       string
		Port       uint32
		OriginHost string
		OriginPort uint32
	}{r.Host, r.Port, from.IP.String(), uint32(from.Port)}))
}

// openUnclosed opens connections through a new port. The server closes the first. It confirms no end of the others, because it
// reads nothing more.
// Each call of OpenChannel waits for an answer until the connection ends.
func (f *forwards) openUnclosed(payload, reply []byte) {
	if f.server.config.Unclosed == 0 {
		return
	}
	var r forwardRequest
	var chosen struct{ Port uint32 }
	if ssh.Unmarshal(payload, &r) != nil || ssh.Unmarshal(reply, &chosen) != nil {
		return
	}
	r.Port = chosen.Port
	from := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
	for { // the client refuses connections until it has seen the answer to its request
		_, _, err := f.openChannel(r, from)
		var refused *ssh.OpenChannelError
		if err == nil {
			break
		}
		if !errors.As(err, &refused) {
			return
		}
	}
	f.server.mu.Lock()
	f.server.deaf = true
	f.server.mu.Unlock()
	for range f.server.config.Unclosed {
		f.server.startWork(func() { _, _, _ = f.openChannel(r, from) })
	}
}

// sendRequests sends requests that need no answer until the connection ends.
func (f *forwards) sendRequests() {
	for {
		if _, _, err := f.conn.SendRequest("noise@sshtest", false, nil); err != nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}
