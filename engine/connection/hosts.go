package connection

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine"
	"holdfast/engine/content"
	"holdfast/engine/remote"
	"holdfast/engine/remote/sshconfig"
	"holdfast/engine/rollout"
	"holdfast/engine/textutil"
)

// Hosts has one SSH connection for each host of the run. It connects again only
// if a connection was lost.
type Hosts struct {
	dialer   *remote.Dialer
	script   func(path string, limit int) string // returns a script that reads a file
	now      func() time.Time
	secrets  textutil.Secrets // hidden in errors of scripts
	contents *content.Server  // server of contents on the bastion; nil: there are no contents

	mu     sync.Mutex
	slots  map[string]*slot
	latest map[string]*remote.Host // the last connection, even if it has ended
	closed bool
}

// slot has the connection of one host. A caller takes the turn while it dials,
// so that a host never gets two connections. The other callers wait until the
// turn is free or their contexts end.
type slot struct {
	turn    chan struct{}
	conn    *remote.Host
	refused refusals
}

// NewHosts returns Hosts without open connections. readScript returns the
// script that reads a file on a host, up to a limit in bytes.
func NewHosts(o remote.Options, readScript func(path string, limit int) string) *Hosts {
	return &Hosts{dialer: remote.NewDialer(o), script: readScript, now: time.Now, slots: map[string]*slot{}, latest: map[string]*remote.Host{}}
}

// HideSecrets sets the values that are hidden in errors of scripts. It must be called before Connect.
func (h *Hosts) HideSecrets(s textutil.Secrets) { h.secrets = s }

// Connect returns the connection to a host, and opens it if necessary.
func (h *Hosts) Connect(ctx context.Context, host engine.Host) (rollout.Conn, error) {
	c, err := h.connectHost(ctx, host)
	if err != nil {
		return nil, err
	}
	return conn{c, host.Name, h.contents, h.secrets}, nil
}

func (h *Hosts) connectHost(ctx context.Context, host engine.Host) (*remote.Host, error) {
	s := h.slotOf(host.Name)
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if s.conn != nil && isConnected(s.conn) {
		return s.conn, nil
	}
	if h.isClosed() {
		return nil, errClosed
	}
	err := s.refused.refuseEarly(h.now())
	if err != nil {
		return nil, withoutHost(err)
	}
	c, err := h.dialer.Dial(ctx, TargetOf(host))
	s.refused.noteLogin(err, h.now())
	if err != nil {
		return nil, withoutHost(err)
	}
	s.conn = c
	if host.Cluster != "" { // the time limits of etcd depend on it
		c.MeasureRoundTrip()
	}
	h.mu.Lock()
	h.latest[host.Name] = c
	h.mu.Unlock()
	return c, nil
}

var errClosed = errors.New("the run has ended")

func (h *Hosts) slotOf(host string) *slot {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.slots[host] == nil {
		h.slots[host] = &slot{turn: make(chan struct{}, 1)}
	}
	return h.slots[host]
}

func (h *Hosts) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

func isConnected(c *remote.Host) bool {
	select {
	case <-c.Done():
		return false
	default:
		return true
	}
}

// TargetOf returns the host as a target of SSH.
func TargetOf(h engine.Host) sshconfig.Target {
	return sshconfig.Target{
		Name: h.Name, Address: h.Address, Port: h.SSH.Port, User: h.SSH.User,
		Identities: h.SSH.Identities, KnownHosts: h.SSH.KnownHosts, ProxyJump: h.SSH.ProxyJump,
		Config: h.SSH.SSHConfig, Become: h.SSH.Become,
		ConnectTimeout: time.Duration(h.SSH.ConnectTimeout),
		KeepAlive:      cmp.Or(time.Duration(h.SSH.KeepAlive), 5*time.Second),
	}
}

func withoutHost(err error) error {
	var e *remote.Error
	if !errors.As(err, &e) {
		return err
	}
	return &engine.Failure{Cause: e.Cause(), Kind: engine.FailureKind(e.Kind.String()), Hint: e.Hint, Silent: e.Silent}
}

// Close ends all connections. It waits for connections that are being opened,
// such as by the scrape of a member that nobody waits for. It opens no new
// ones.
func (h *Hosts) Close() {
	h.mu.Lock()
	h.closed = true
	slots := slices.Collect(maps.Values(h.slots))
	h.mu.Unlock()
	for _, s := range slots {
		s.turn <- struct{}{}
		if s.conn != nil {
			_ = s.conn.Close() // the run is over, so the error does not matter
		}
		<-s.turn
	}
	_ = h.dialer.Close()
	if h.contents != nil {
		_ = h.contents.Close() // the server only reads, so the error does not matter
	}
}

// conn implements rollout.Conn.
type conn struct {
	host     *remote.Host
	name     string
	contents *content.Server
	secrets  textutil.Secrets
}

// Run runs a script on the host as root.
func (c conn) Run(ctx context.Context, s rollout.Script) (rollout.Reply, error) {
	text, stop, err := c.serveContent(ctx, s)
	if err != nil {
		return rollout.Reply{}, err
	}
	defer stop()
	command := remote.Command{Script: text, Become: true, Stdout: s.Live, Timeout: s.Timeout, MaxOutput: mostOutput, Stdin: s.Input}
	if len(s.Uploads) > 0 {
		files, err := tarArchive(s.Uploads)
		if err != nil {
			return rollout.Reply{}, err
		}
		command.Stdin = files
	}
	r, err := c.host.Run(ctx, command)
	reply := rollout.Reply{Stdout: r.Stdout, Stderr: c.secrets.HideOutput(r.Stderr, remote.KindOf(err) == remote.TooMuch), Code: r.Code}
	switch {
	case remote.KindOf(err) == remote.TooMuch:
		return reply, rollout.TooMuchOutput{Cause: withoutHost(err)}
	case err != nil:
		return reply, withoutHost(err)
	case r.Signal != "":
		return reply, fmt.Errorf("the script was ended by signal %s", r.Signal)
	}
	return reply, nil
}

// mostOutput limits the output of one script, in bytes. Facts about 50,000
// files fit.
const mostOutput = 32 << 20

func tarArchive(files []engine.Upload) (io.Reader, error) {
	const block = 512 // files are padded to blocks, and two empty blocks end the archive
	var parts []io.Reader
	for _, f := range files {
		var header bytes.Buffer
		err := tar.NewWriter(&header).WriteHeader(&tar.Header{Name: f.Name, Mode: 0o600, Size: int64(len(f.Data)), Format: tar.FormatUSTAR})
		if err != nil {
			return nil, fmt.Errorf("pack %s: %w", f.Name, err)
		}
		padding := make([]byte, (block-len(f.Data)%block)%block)
		parts = append(parts, &header, bytes.NewReader(f.Data), bytes.NewReader(padding))
	}
	return io.MultiReader(append(parts, bytes.NewReader(make([]byte, 2*block)))...), nil
}

// connectMember connects to a host for its etcd cluster. It refuses a host that leaves the site: no run connects to it, although its voter
// may still be there.
func (h *Hosts) connectMember(ctx context.Context, host engine.Host) (*remote.Host, error) {
	if err := host.CheckStays(); err != nil {
		return nil, err
	}
	return h.connectHost(ctx, host)
}

func (h *Hosts) dialFrom(host engine.Host) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := h.connectMember(ctx, host)
		if err != nil {
			return nil, err
		}
		return c.Dial(ctx, network, address)
	}
}

func (h *Hosts) roundTrip(host engine.Host) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.latest[host.Name]; c != nil {
		return c.RoundTrip()
	}
	return 0
}

// measureRoundTrips connects to all members unless the round-trip time of one
// of them is known. It ignores unreachable hosts, because later requests report
// them.
func (h *Hosts) measureRoundTrips(ctx context.Context, members []engine.Host) {
	if slices.ContainsFunc(members, func(m engine.Host) bool { return h.roundTrip(m) > 0 }) {
		return
	}
	var work conc.WaitGroup
	for _, m := range members {
		work.Go(func() {
			if c, err := h.connectMember(ctx, m); err == nil {
				c.AwaitRoundTrip(ctx)
			}
		})
	}
	work.Wait()
}

// runAsRoot returns a function that runs a script on a host as root.
func (h *Hosts) runAsRoot(host engine.Host) func(context.Context, string) (string, error) {
	return func(ctx context.Context, script string) (string, error) {
		c, err := h.connectMember(ctx, host)
		if err != nil {
			return "", err
		}
		r, err := c.Run(ctx, remote.Command{Script: script, Become: true, MaxOutput: mostFile})
		if err == nil && r.Code != 0 {
			err = fmt.Errorf("a script on %s fails with exit status %d: %s", host.Name, r.Code, textutil.Printable(h.secrets.KeepTail(r.Stderr, 1000)))
		}
		return r.Stdout, err
	}
}
