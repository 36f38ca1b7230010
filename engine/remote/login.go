package remote

import (
	"context"
	"errors"
	"fmt"
	"net"

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
		failed := l.loginError(parent, conn, err)
		failed.LoginFailed = len(l.methods) > 0 || l.failure != nil
		return nil, nil, failed
	}
	return ssh.NewClient(c, chans, reqs), conn, nil
}

func (l *login) hostKeys() (hostkeys.Keys, error) {
	known, err := l.dialer.known.Read(l.ep.KnownHosts, l.dialer.files)
	if err != nil {
		return hostkeys.Keys{}, err
	}
	keys := known.Find(l.ep.HostKey, l.ep.HostKeyAliased)
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
		return nil, l.ep.newError(Config, "prepare the login", err, "put a key there that you may read, or correct identity in the ssh block")
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
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			refused := keys.Check(key)
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
		l.failure = &Error{Kind: Passphrase, Step: "log in as " + l.ep.UserAndAddress(), Err: err, Hint: "load the key into an agent (ssh-add)"}
	}
	return s, err
}
