package sshtest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/sourcegraph/conc"
	"golang.org/x/crypto/ssh"
)

// serve is the life of one connection.
func (s *Server) serve(c net.Conn) {
	if s.config.Silent {
		_, _ = io.Copy(io.Discard, c)
		return
	}
	conn, channels, requests, err := ssh.NewServerConn(c, s.serverConfig())
	if err != nil {
		return
	}
	f := &forwards{conn: conn, server: s, listeners: map[string]net.Listener{}}
	var work conc.WaitGroup
	work.Go(func() { s.requests(f, requests) })
	var open int
	ended := make(chan struct{}, 1024)
	for n := range channels {
		for len(ended) > 0 {
			<-ended
			open--
		}
		switch {
		case n.ChannelType() == "session" && s.config.MaxSessions > 0 && open >= s.config.MaxSessions:
			_ = n.Reject(ssh.ConnectionFailed, "open failed")
		case n.ChannelType() == "session":
			open++
			work.Go(func() { s.session(n); ended <- struct{}{} })
		case n.ChannelType() == "direct-tcpip":
			work.Go(func() { s.direct(n) })
		default:
			_ = n.Reject(ssh.UnknownChannelType, "unknown channel type")
		}
	}
	f.close()
	work.Wait()
}

func (s *Server) serverConfig() *ssh.ServerConfig {
	checker := &ssh.CertChecker{
		IsUserAuthority: func(key ssh.PublicKey) bool { return contains(s.config.Authorities, key) },
		UserKeyFallback: func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if contains(s.config.Authorized, key) {
				return nil, nil
			}
			return nil, errors.New("key not authorized")
		},
	}
	config := &ssh.ServerConfig{
		ServerVersion: "SSH-2.0-sshtest",
		PublicKeyCallback: func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if c.User() != s.config.User {
				return nil, errors.New("no such user")
			}
			return checker.Authenticate(c, key)
		},
	}
	for _, k := range s.config.HostKeys {
		config.AddHostKey(k)
	}
	return config
}

func contains(keys []ssh.PublicKey, key ssh.PublicKey) bool {
	return slices.ContainsFunc(keys, func(k ssh.PublicKey) bool { return bytes.Equal(k.Marshal(), key.Marshal()) })
}

// requests answers what concerns the connection as a whole.
func (s *Server) requests(f *forwards, requests <-chan *ssh.Request) {
	for r := range requests {
		switch r.Type {
		case "tcpip-forward":
			ok, reply := f.listen(r.Payload)
			_ = r.Reply(ok, reply)
		case "cancel-tcpip-forward":
			_ = r.Reply(f.cancel(r.Payload), nil)
		default: // sshd answers keepalives with a failure, too
			if r.WantReply {
				time.Sleep(s.config.Late)
				_ = r.Reply(false, nil)
			}
		}
	}
}

// direct connects a client to where it wants to go from here.
func (s *Server) direct(n ssh.NewChannel) {
	var to struct {
		Host       string
		Port       uint32
		OriginHost string
		OriginPort uint32
	}
	if err := ssh.Unmarshal(n.ExtraData(), &to); err != nil || s.config.NoForward {
		_ = n.Reject(ssh.Prohibited, "open failed")
		return
	}
	c, err := net.Dial("tcp", net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port))))
	if err != nil {
		_ = n.Reject(ssh.ConnectionFailed, reason(err))
		return
	}
	channel, requests, err := n.Accept()
	if err != nil {
		_ = c.Close()
		return
	}
	s.spawn(func() { ssh.DiscardRequests(requests) })
	join(channel, c)
}

// reason is what sshd says: the system's words without Go's.
func reason(err error) string {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return "Name or service not known"
	}
	var op *net.OpError
	if errors.As(err, &op) && errors.Unwrap(op.Err) != nil {
		return errors.Unwrap(op.Err).Error()
	}
	return err.Error()
}

// join copies both ways until both have ended.
func join(a, b io.ReadWriteCloser) {
	var up conc.WaitGroup
	up.Go(func() {
		_, _ = io.Copy(a, b)
		_ = a.Close()
	})
	_, _ = io.Copy(b, a)
	_ = b.Close()
	up.Wait()
}
