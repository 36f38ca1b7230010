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

func (s *Server) serveConn(c net.Conn) {
	if s.config.Silent {
		_, _ = io.Copy(io.Discard, c)
		return
	}
	config := s.serverConfig()
	if s.config.CutLogins {
		config.AuthLogCallback = func(_ ssh.ConnMetadata, _ string, err error) {
			if err == nil {
				_ = c.Close()
			}
		}
	}
	conn, channels, requests, err := ssh.NewServerConn(c, config)
	if err != nil {
		return
	}
	f := &forwards{conn: conn, server: s, listeners: map[string]net.Listener{}}
	var work conc.WaitGroup
	work.Go(func() { s.answerRequests(f, requests) })
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
			work.Go(func() { s.serveSession(n); ended <- struct{}{} })
		case n.ChannelType() == "direct-tcpip":
			work.Go(func() { s.connectDirect(n) })
		default:
			_ = n.Reject(ssh.UnknownChannelType, "unknown channel type")
		}
	}
	f.closeAll()
	work.Wait()
}

func (s *Server) serverConfig() *ssh.ServerConfig {
	checker := &ssh.CertChecker{
		IsUserAuthority: func(key ssh.PublicKey) bool { return containsKey(s.config.Authorities, key) },
		UserKeyFallback: func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if containsKey(s.config.Authorized, key) {
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

func containsKey(keys []ssh.PublicKey, key ssh.PublicKey) bool {
	return slices.ContainsFunc(keys, func(k ssh.PublicKey) bool { return bytes.Equal(k.Marshal(), key.Marshal()) })
}

func (s *Server) answerRequests(f *forwards, requests <-chan *ssh.Request) {
	for r := range requests {
		if r.Type == s.config.Unanswered {
			s.startWork(f.sendRequests)
			continue
		}
		if r.WantReply {
			time.Sleep(s.config.Late)
		}
		switch r.Type {
		case "tcpip-forward":
			ok, reply := f.listenFor(r.Payload)
			_ = r.Reply(ok, reply)
			f.openUnclosed(r.Payload, reply)
		case "cancel-tcpip-forward":
			_ = r.Reply(f.cancelForward(r.Payload), nil)
		default: // sshd answers keepalives with a failure
			if r.WantReply {
				_ = r.Reply(false, nil)
			}
		}
	}
}

func (s *Server) connectDirect(n ssh.NewChannel) {
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
	connect := s.config.Connect
	if connect == nil {
		connect = func(address string) (net.Conn, error) { return net.Dial("tcp", address) }
	}
	c, err := connect(net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port))))
	if err != nil {
		_ = n.Reject(ssh.ConnectionFailed, sshdReason(err))
		return
	}
	channel, requests, err := n.Accept()
	if err != nil {
		_ = c.Close()
		return
	}
	s.startWork(func() { ssh.DiscardRequests(requests) })
	copyBothWays(channel, c)
}

// sshdReason returns the error text of the system, as sshd does, without the text that Go puts before it.
func sshdReason(err error) string {
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

func copyBothWays(a, b io.ReadWriteCloser) {
	var up conc.WaitGroup
	up.Go(func() {
		_, _ = io.Copy(a, b)
		_ = a.Close()
	})
	_, _ = io.Copy(b, a)
	_ = b.Close()
	up.Wait()
}
