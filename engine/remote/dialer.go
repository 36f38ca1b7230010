package remote

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"holdfast/engine/remote/hostkeys"
	"holdfast/engine/remote/sshconfig"
)

// Options apply to all hosts of a Dialer.
type Options struct {
	Secrets Secrets // nil: there is no prompt

	Agent string // socket of the agent; "" for $SSH_AUTH_SOCK, "none" for none. IdentityAgent in ssh_config overrides it.
	Home  string // replaces ~; "" for the user's

	RunMatch func(command string) (bool, error) // runs a command of Match exec; nil: hosts that depend on its result are refused

	ReadFile func(path string) ([]byte, error) // reads files of the user; nil: os.ReadFile
	Warn     func(text string)                 // called once with each warning, from several goroutines; nil: warnings are dropped

	// OutputBudget bounds the kept output of all scripts together, in bytes, without the first 256 KiB of each script.
	// One half is for the output of a script up to 4 MiB, the other half for its output beyond 4 MiB. A script waits
	// until its share is free. Default 128 MiB.
	OutputBudget int64

	// StartTimeout bounds the time from sending a command until its script starts; sudo and a login shell take part of it.
	// Default 60 s.
	StartTimeout time.Duration

	// PortTimeout bounds the time until a host has opened a port; it has closeFactor times as long to close it. Default 15 s.
	PortTimeout time.Duration
}

// Dialer connects to hosts. They share the connections to jump hosts, and each ssh_config, known_hosts and key file that the
// Dialer has read. Its methods may be called from several goroutines.
type Dialer struct {
	opts    Options
	files   sshconfig.Reader
	budget  *budget
	known   hostkeys.KnownHostsCache
	revoked hostkeys.RevokedCache
	keys    keyFiles
	jumps   routes

	mu      sync.Mutex
	configs map[string]sshconfig.Config
	matches map[string]func() (bool, error) // results of Match exec, by command
	visits  map[string]*sudo                // of DialVisit, by the name of the target
}

const (
	defaultStartTimeout = 60 * time.Second
	defaultPortTimeout  = 15 * time.Second
)

// NewDialer returns a Dialer. The caller closes the hosts first, then the
// Dialer.
func NewDialer(o Options) *Dialer {
	if o.StartTimeout <= 0 {
		o.StartTimeout = defaultStartTimeout
	}
	if o.PortTimeout <= 0 {
		o.PortTimeout = defaultPortTimeout
	}
	return &Dialer{
		opts:    o,
		files:   sshconfig.NewReader(o.ReadFile, o.Warn),
		budget:  newBudget(o.OutputBudget),
		keys:    keyFiles{m: map[string]*keyFile{}},
		jumps:   routes{m: map[string]*route{}},
		configs: map[string]sshconfig.Config{},
		matches: map[string]func() (bool, error){},
		visits:  map[string]*sudo{},
	}
}

// Dial connects to a host and logs in. The error is an *Error. Dial takes at most ConnectTimeout per hop, without the
// time that a person needs to enter a passphrase.
func (d *Dialer) Dial(ctx context.Context, t sshconfig.Target) (*Host, error) {
	ep, err := d.resolveTarget(t)
	if err != nil {
		return nil, err
	}
	via, err := d.connectJumpHosts(ctx, t, ep)
	if err != nil {
		return nil, err
	}
	return d.connectAndLogIn(ctx, ep, via)
}

// DialVisit is Dial for a short connection, of which a host may get several. They try the password of sudo once together:
// hosts lock accounts after a few wrong passwords.
func (d *Dialer) DialVisit(ctx context.Context, t sshconfig.Target) (*Host, error) {
	h, err := d.Dial(ctx, t)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.visits[t.Name] == nil {
		d.visits[t.Name] = h.sudo
	}
	h.sudo = d.visits[t.Name]
	return h, nil
}

// Close ends the connections to jump hosts. The hosts behind them lose their
// connections, too.
func (d *Dialer) Close() error { return d.jumps.closeAll() }

func (d *Dialer) connectAndLogIn(ctx context.Context, ep endpoint, via *Host) (*Host, error) {
	l := login{dialer: d, ep: ep, via: via}
	client, conn, err := l.connectAndLogIn(ctx)
	if err != nil {
		return nil, err
	}
	return newHost(d, ep, client, conn), nil
}

func (d *Dialer) resolveTarget(t sshconfig.Target) (endpoint, error) {
	hint := ""
	ep, err := d.lookUp(t, d.matchRunner())
	if err == nil {
		err, hint = checkKnownHosts(t, ep), "collect the keys of the hosts with ssh-keyscan and compare them, or correct known_hosts"
	}
	if err != nil {
		return endpoint{}, &Error{Kind: Config, Host: cmp.Or(t.Name, t.Address), Step: "prepare", Err: err, Hint: hint}
	}
	return endpoint{ep}, nil
}

func (d *Dialer) lookUp(t sshconfig.Target, run func(string) (bool, error)) (sshconfig.Endpoint, error) {
	r := sshconfig.Resolver{Alias: cmp.Or(t.Address, t.Name), Home: d.opts.Home, Agent: d.opts.Agent, Warn: d.files.Warn, Run: run}
	var err error
	if r.Home == "" {
		if r.Home, err = os.UserHomeDir(); err != nil {
			return sshconfig.Endpoint{}, fmt.Errorf("find home directory: %w", err)
		}
	}
	if r.Agent == "" {
		r.Agent = os.Getenv("SSH_AUTH_SOCK")
	}
	if r.Config, err = d.loadConfig(t.Config, r.Home); err != nil {
		return sshconfig.Endpoint{}, err
	}
	return r.Resolve(t)
}

// checkKnownHosts checks that the known_hosts files of the inventory exist. Those of ssh_config may be missing.
func checkKnownHosts(t sshconfig.Target, ep sshconfig.Endpoint) error {
	if len(t.KnownHosts) == 0 {
		return nil
	}
	for _, f := range ep.KnownHosts {
		if _, err := os.Stat(f); err != nil {
			return fmt.Errorf("read known_hosts: %w", err)
		}
	}
	return nil
}

func (d *Dialer) matchRunner() func(string) (bool, error) {
	if d.opts.RunMatch == nil {
		return nil
	}
	return d.runMatch
}

// runMatch runs each command of Match exec once.
func (d *Dialer) runMatch(command string) (bool, error) {
	d.mu.Lock()
	run := d.matches[command]
	if run == nil {
		run = sync.OnceValues(func() (bool, error) { return d.opts.RunMatch(command) })
		d.matches[command] = run
	}
	d.mu.Unlock()
	return run()
}

func (d *Dialer) loadConfig(path, home string) (sshconfig.Config, error) {
	named := path != ""
	switch path {
	case "none":
		return sshconfig.Config{}, nil
	case "":
		path = filepath.Join(home, ".ssh", "config")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if c, ok := d.configs[path]; ok {
		return c, nil
	}
	c, err := sshconfig.Read(path, home, named, d.files)
	if err != nil {
		return sshconfig.Config{}, err
	}
	d.configs[path] = c
	return c, nil
}

// Secrets asks a person, a file or a command for secrets. Its methods are called only when a secret is needed, and from
// several goroutines. If a method fails, the host that needs the secret fails. A Dialer asks once for each key file,
// and a Host asks once for its password. An implementation with one password for many hosts must remember the password
// itself.
type Secrets interface {
	// Passphrase returns the passphrase of a private key file. It is called at most three times for a file. An empty
	// answer, or the same wrong answer twice in a row, ends the attempts.
	Passphrase(ctx context.Context, keyfile string) ([]byte, error)
	// BecomePassword returns the password for sudo on the host, or nil if there is none.
	BecomePassword(ctx context.Context, host string) ([]byte, error)
}
