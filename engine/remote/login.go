package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"holdfast/engine/remote/hostkeys"
)

// login is one attempt to connect to an endpoint and log in.
type login struct {
	dialer *Dialer
	ep     endpoint
	via    *Host // jump host, or nil
	ctx    context.Context
	clock  *stopwatch

	ids     identities
	tried   bool     // the connection was begun before the time was over
	methods []string // that the host offers
	failure *Error   // set in a callback that refuses the host key or cannot unlock a key
}

var errLate = errors.New("connect timeout")

func (l *login) connectAndLogIn(parent context.Context) (*ssh.Client, *activeConn, error) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	l.ctx = ctx
	l.clock = startStopwatch(l.ep.ConnectTimeout, func() { cancel(errLate) })
	defer l.clock.stop()

	known, err := l.hostKeys()
	if err != nil {
		return nil, nil, l.ep.newError(Config, "prepare the login", err, "")
	}
	closeAgent, err := l.collectKeys(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer closeAgent()
	raw, err := l.connectTCP(ctx)
	if err != nil {
		return nil, nil, l.connectError(parent, err)
	}
	conn := newActiveConn(raw)
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	c, chans, reqs, err := ssh.NewClientConn(conn, l.ep.HostKey, l.clientConfig(known))
	if !stop() && err == nil {
		err = context.Cause(ctx)
		_ = c.Close()
	}
	if err != nil {
		_ = conn.Close()
		return nil, nil, l.loginError(parent, conn, err)
	}
	return ssh.NewClient(c, chans, reqs), conn, nil
}

func (l *login) hostKeys() (hostkeys.Keys, error) {
	known, err := l.dialer.known.Read(l.ep.KnownHosts, l.dialer.files)
	if err != nil {
		return hostkeys.Keys{}, err
	}
	keys := known.Find(l.ep.HostKey)
	keys.Restrictions = l.ep.Restrictions
	keys.Revoked, err = l.dialer.revoked.Read(l.ep.Restrictions.Revoked, l.dialer.files)
	return keys, err
}

func (l *login) collectKeys(ctx context.Context) (closeAgent func(), err error) {
	closeAgent = func() {}
	conn, err := dialAgent(ctx, l.ep.Agent)
	var note string
	if err != nil {
		note = "the agent cannot be used: " + err.Error()
	}
	if conn != nil {
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		closeAgent = func() { stop(); _ = conn.Close() }
	}
	held, err := agentKeys(conn)
	if err != nil {
		note = "the agent cannot be used: " + err.Error()
	}
	l.ids, err = l.orderKeys(held)
	if err != nil {
		closeAgent()
		return nil, l.ep.newError(Config, "prepare the login", err, "")
	}
	if note != "" {
		l.ids.skipped = append(l.ids.skipped, note)
	}
	return closeAgent, nil
}

func (l *login) connectTCP(ctx context.Context) (net.Conn, error) {
	l.tried = ctx.Err() == nil
	if l.via != nil {
		c, err := l.via.dialChannel(ctx, "tcp", l.ep.Address())
		if e := l.jumpHostLost(err); e != nil {
			err = e
		}
		return c, err
	}
	if command := l.ep.ProxyCommand; command.Text != "" {
		c, err := startProxyCommand(command.Text)
		if err != nil {
			return nil, fmt.Errorf("start the ProxyCommand of %s: %w", command.At, err)
		}
		return c, nil
	}
	var d net.Dialer
	return d.DialContext(ctx, l.ep.Restrictions.Network, l.ep.Address())
}

func (l *login) clientConfig(keys hostkeys.Keys) *ssh.ClientConfig {
	limits := l.ep.Restrictions
	return &ssh.ClientConfig{
		Config:            ssh.Config{KeyExchanges: limits.KeyExchanges, Ciphers: limits.Ciphers, MACs: limits.Macs},
		User:              l.ep.User,
		ClientVersion:     "SSH-2.0-holdfast",
		HostKeyAlgorithms: keys.Algorithms(),
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(l.ids.limitLogins(limits)...)},
		HostKeyCallback: func(_ string, remote net.Addr, key ssh.PublicKey) error {
			refused := keys.Check(remote, key)
			if refused == nil {
				return nil
			}
			l.failure = &Error{Kind: HostKeyMismatch, Step: refused.Step, Err: refused.Err, Hint: refused.Hint}
			if refused.Unknown {
				l.failure.Kind = HostKeyUnknown
			}
			return l.failure
		},
		AuthCallback: func(c *ssh.ClientAuthContext) (ssh.AuthMethod, error) {
			l.methods = c.AllowedMethods
			return nil, nil
		},
	}
}

// unlockKey unlocks a key. The time that a person needs to enter the passphrase does not count towards
// ConnectTimeout.
func (l *login) unlockKey(k *keyFile) (ssh.AlgorithmSigner, error) {
	l.clock.pause()
	defer l.clock.resume()
	s, err := k.unlockSigner(l.ctx, l.dialer.opts.Secrets)
	if err != nil && l.ctx.Err() == nil {
		l.failure = &Error{Kind: Passphrase, Step: "log in as " + l.ep.UserAndAddress(), Err: err}
	}
	return s, err
}

func (l *login) connectError(parent context.Context, err error) error {
	step := "connect to " + l.ep.Address()
	if l.via != nil {
		step += " through " + l.via.ep.UserAndAddress()
	}
	if e := l.callerEnded(parent, step); e != nil {
		return l.markSilence(e)
	}
	if errors.Is(context.Cause(l.ctx), errLate) {
		return l.markSilence(l.ep.newError(Unreachable, step, fmt.Errorf("no answer within %s", l.ep.ConnectTimeout),
			"check that the host is on and the network works"))
	}
	kind, hint := classifyConnect(err)
	e := l.ep.newError(kind, step, rootCause(err), hint)
	e.Silent = isSilence(err)
	return e
}

// markSilence marks the error of a host that has sent nothing until the time was over.
func (l *login) markSilence(e *Error) *Error {
	e.Silent = l.tried && e.Kind != Canceled
	return e
}

func (l *login) jumpHostLost(err error) error {
	var refused *ssh.OpenChannelError
	if err == nil || l.via == nil || l.ctx.Err() != nil || errors.As(err, &refused) {
		return nil
	}
	if cause := l.via.endCause(); cause != nil {
		return l.via.ep.newError(Lost, "", cause, "")
	}
	return nil
}

func (l *login) loginError(parent context.Context, conn *activeConn, err error) error {
	step := "log in as " + l.ep.UserAndAddress()
	silent := conn.received.Load() == 0
	command, proxied := conn.Conn.(*commandConn)
	if e := l.callerEnded(parent, step); e != nil {
		if silent && !proxied {
			return l.markSilence(e)
		}
		return e
	}
	if l.failure != nil {
		l.failure.Host, l.failure.Address, l.failure.User = l.ep.Name, l.ep.Address(), l.ep.User
		return l.failure
	}
	if strings.Contains(err.Error(), unauthenticated) {
		return l.noKeyError(step, "the host offers these login methods: "+oneLine(strings.Join(l.methods, ", ")))
	}
	if e := l.jumpHostLost(err); e != nil {
		return l.connectError(parent, e)
	}
	late := errors.Is(context.Cause(l.ctx), errLate)
	switch {
	case silent && proxied:
		return l.ep.newError(Unreachable, "connect to "+l.ep.Address()+" with ProxyCommand", command.describeFailure(l.ep, late), "run the ProxyCommand of "+l.ep.ProxyCommand.At+" by hand")
	case late && silent:
		return l.markSilence(l.ep.newError(Unreachable, "connect to "+l.ep.Address(),
			fmt.Errorf("connected, but no SSH greeting within %s", l.ep.ConnectTimeout), "the host may hang, or something else listens there"))
	case late:
		return l.ep.newError(Unreachable, step, fmt.Errorf("login not finished within %s", l.ep.ConnectTimeout), "the host or the network may be overloaded")
	case silent:
		return l.ep.newError(Unreachable, "connect to "+l.ep.Address(), fmt.Errorf("the host closed the connection without an SSH greeting: %w", handshakeCause(err)),
			"it may be starting up or shutting down, or have too many connections (MaxStartups)")
	case strings.Contains(err.Error(), disconnected) && len(l.methods) > 0: // such as after too many keys
		return l.noKeyError(step, err.Error())
	}
	return l.ep.newError(Unreachable, step, handshakeCause(err), "")
}

// These are parts of errors of the SSH library, which exports no types for them.
const (
	unauthenticated = "ssh: unable to authenticate" // no login method is left to try
	disconnected    = "ssh: disconnect"             // the host has sent a disconnect message
)

// handshakeCause leaves out the words that the library puts before each error of a handshake.
func handshakeCause(err error) error {
	if inner := errors.Unwrap(err); inner != nil && strings.HasPrefix(err.Error(), "ssh: handshake failed") {
		return inner
	}
	return err
}

func (l *login) noKeyError(step, said string) error {
	if len(l.ids.keys) == 0 && l.ids.locked {
		return l.ep.newError(Passphrase, step, errors.New(l.ids.String()), "load the key into an agent, or put its public key beside it (.pub), so that holdfast can ask for the passphrase")
	}
	return l.ep.newError(Auth, step, fmt.Errorf("no key was accepted: %s; %s", l.ids, said),
		"check the user, and its authorized_keys on the host")
}

func (l *login) callerEnded(parent context.Context, step string) *Error {
	if parent.Err() == nil {
		return nil
	}
	return l.ep.newError(kindOfEnd(parent), step, context.Cause(parent), "")
}

func kindOfEnd(ctx context.Context) Kind {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return Timeout
	}
	return Canceled
}

// stopwatch calls a function after some time. Pauses do not count.
type stopwatch struct {
	mu    sync.Mutex
	timer *time.Timer
	left  time.Duration // remaining time at the last start
	since time.Time     // time of the last start
}

func startStopwatch(d time.Duration, f func()) *stopwatch {
	return &stopwatch{timer: time.AfterFunc(d, f), left: d, since: time.Now()}
}

func (s *stopwatch) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer.Stop() {
		s.left -= time.Since(s.since)
	}
}

func (s *stopwatch) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = time.Now()
	s.timer.Reset(max(s.left, time.Millisecond))
}

func (s *stopwatch) stop() { s.timer.Stop() }
