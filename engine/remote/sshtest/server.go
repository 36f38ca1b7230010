// Package sshtest is an SSH server on loopback for tests and benchmarks, like net/http/httptest. It runs commands with
// a real sh, in a directory and with a PATH of its own, forwards connections in both directions, and fails as hosts
// fail. Never use it in production: a client with the right key runs anything as the user of the test.
package sshtest

import (
	"crypto/ed25519"
	"crypto/rand"
	_ "embed"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sourcegraph/conc"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"holdfast/engine/pathtest"
)

//go:embed sudo.sh
var fakeSudo []byte

// Config describes how a Server behaves. The zero value is a working host.
type Config struct {
	Address     string       // of loopback; default 127.0.0.1
	HostKeys    []ssh.Signer // default one ed25519 key
	User        string       // the only user; default "core"
	Authorized  []ssh.PublicKey
	Authorities []ssh.PublicKey // authorities whose user certificates are accepted
	Sudo        string          // "nopasswd" (default), "password:WORD", "denied:WORD", "tty", "hidden:WORD", "missing"
	Env         []string        // added to the environment of commands
	Shell       []string        // runs a command line, which is appended; default sh -c
	Exec        Exec            // runs command lines instead of Shell
	Input       Input           // changes the input of commands
	MaxSessions int             // sessions of one connection; 0 for no limit
	NoForward   bool            // refuse tunnels and forwards
	Connect     Connect         // opens the connections of tunnels; default net.Dial
	Late        time.Duration   // delay of answers to keepalives and requests for ports
	LateSession time.Duration   // delay until a session is open
	Silent      bool            // accept connections and never send anything
	CutLogins   bool            // close the connection of a login with a right key, as pam_nologin does while a host boots
	Unanswered  string          // the first such global request gets no answer; the server sends other requests for ever
	Unclosed    int             // connections that the server opens through a new port; then it reads nothing more
}

// Exec runs a command line in the process of the test and returns its exit status.
type Exec func(line string, stdin io.Reader, stdout, stderr io.Writer) int

// Connect opens a TCP connection to an address. sshd passes the text of its error on.
type Connect func(address string) (net.Conn, error)

// Input wraps the input of a command.
type Input func(io.Reader) io.Reader

// Server is a running server. Close ends it.
type Server struct {
	Dir        string // scratch directory: the home of commands, and the files below
	Identity   string // a private key file that may log in
	KnownHosts string // a known_hosts file with the first host key
	Key        ssh.Signer

	config   Config
	listener net.Listener
	work     conc.WaitGroup
	sessions atomic.Int64
	most     atomic.Int64
	open     atomic.Int64

	mu     sync.Mutex
	gate   *sync.Cond // signals changes of frozen, closed and count
	frozen bool       // sends and reads nothing
	deaf   bool       // reads nothing
	closed bool
	count  int // connections accepted since the start
	conns  map[*gatedConn]struct{}
	groups map[int]struct{} // process groups of commands
}

// Start returns a Server that ends with the test.
func Start(tb testing.TB, c Config) *Server {
	tb.Helper()
	s, err := New(tb.TempDir(), c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

// New returns a running Server that keeps its files in dir.
func New(dir string, c Config) (*Server, error) {
	s := &Server{Dir: dir, config: c, conns: map[*gatedConn]struct{}{}, groups: map[int]struct{}{}}
	s.gate = sync.NewCond(&s.mu)
	if s.config.User == "" {
		s.config.User = "core"
	}
	if len(s.config.Shell) == 0 {
		s.config.Shell = []string{"sh", "-c"}
	}
	if len(s.config.HostKeys) == 0 {
		key, _ := newKey()
		s.config.HostKeys = []ssh.Signer{key}
	}
	if s.config.Address == "" {
		s.config.Address = "127.0.0.1"
	}
	var err error
	if s.listener, err = net.Listen("tcp", s.config.Address+":0"); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if err := errors.Join(s.writeIdentity(), s.writeKnownHosts(), s.writeTools()); err != nil {
		return nil, errors.Join(err, s.listener.Close())
	}
	s.work.Go(s.acceptConns)
	return s, nil
}

func newKey() (ssh.Signer, ed25519.PrivateKey) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err) // crypto/rand does not fail
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		panic(err) // ed25519 is supported
	}
	return signer, private
}

func (s *Server) writeIdentity() error {
	signer, private := newKey()
	block, err := ssh.MarshalPrivateKey(private, "sshtest")
	if err != nil {
		return fmt.Errorf("write identity: %w", err)
	}
	s.Key, s.Identity = signer, filepath.Join(s.Dir, "identity")
	s.config.Authorized = append(s.config.Authorized, signer.PublicKey())
	return os.WriteFile(s.Identity, pem.EncodeToMemory(block), 0o600)
}

func (s *Server) writeKnownHosts() error {
	s.KnownHosts = filepath.Join(s.Dir, "known_hosts")
	line := knownhosts.Line([]string{s.Addr()}, s.config.HostKeys[0].PublicKey())
	return os.WriteFile(s.KnownHosts, []byte(line+"\n"), 0o600)
}

// writeTools creates the only two folders on the PATH of commands. tools has links to programs; bin has the fake sudo.
func (s *Server) writeTools() error {
	bin := filepath.Join(s.Dir, "bin")
	if err := errors.Join(os.MkdirAll(bin, 0o755), pathtest.LinkFolder(filepath.Join(s.Dir, "tools"))); err != nil {
		return err
	}
	if s.config.Sudo == "missing" {
		return nil
	}
	return os.WriteFile(filepath.Join(bin, "sudo"), fakeSudo, 0o755)
}

// Addr returns the address as host:port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Port returns the port.
func (s *Server) Port() int { return s.listener.Addr().(*net.TCPAddr).Port }

// HostKey returns the first host key.
func (s *Server) HostKey() ssh.PublicKey { return s.config.HostKeys[0].PublicKey() }

// Connections returns how many connections were accepted so far.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// AwaitConnections waits until n connections were accepted, or the server is
// closed.
func (s *Server) AwaitConnections(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.count < n && !s.closed {
		s.gate.Wait()
	}
}

// Sessions returns how many commands were started.
func (s *Server) Sessions() int { return int(s.sessions.Load()) }

// MostSessions returns the maximum of sessions that were open at the same time.
func (s *Server) MostSessions() int { return int(s.most.Load()) }

// Freeze stops reading and answering, and keeps connections open, like a host
// that hangs.
func (s *Server) Freeze() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = true
	s.gate.Broadcast()
}

// Drop closes all connections, like a host that loses power. New connections are accepted.
func (s *Server) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.Conn.Close()
	}
}

// Close ends the server, its connections and the processes of its commands.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed, s.frozen, s.deaf = true, false, false
	s.gate.Broadcast()
	s.mu.Unlock()
	_ = s.listener.Close()
	s.Drop()
	s.killAll()
	s.work.Wait()
}

// startWork runs f in a goroutine that Close waits for, unless the server is closed.
func (s *Server) startWork(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.work.Go(f)
	}
}

func (s *Server) acceptConns() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		g := &gatedConn{Conn: c, server: s}
		s.mu.Lock()
		s.conns[g] = struct{}{}
		s.count++
		s.gate.Broadcast()
		s.mu.Unlock()
		s.startWork(func() {
			s.serveConn(g)
			_ = c.Close()
			s.mu.Lock()
			delete(s.conns, g)
			s.mu.Unlock()
		})
	}
}

// gatedConn is a connection that blocks while the server is frozen or deaf.
type gatedConn struct {
	net.Conn
	server *Server
}

// Read returns data once the server is neither frozen nor deaf.
func (c *gatedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	for c.server.frozen || c.server.deaf {
		c.server.gate.Wait()
	}
	return n, err
}

// Write sends once the server is not frozen.
func (c *gatedConn) Write(p []byte) (int, error) {
	c.server.mu.Lock()
	for c.server.frozen {
		c.server.gate.Wait()
	}
	c.server.mu.Unlock()
	return c.Conn.Write(p)
}
