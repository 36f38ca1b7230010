package remote

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	defaultPort           = 22
	defaultConnectTimeout = 10 * time.Second
	defaultKeepAlive      = 15 * time.Second
	defaultKeepAliveCount = 3
)

// resolver answers a Target's open questions from ssh_config and the defaults. The first error stays in err, so that the
// questions can be asked one after the other.
type resolver struct {
	config sshConfig
	alias  string // what ssh_config is looked up with
	home   string
	agent  string // default agent socket
	warn   func(string)
	err    error
}

// resolve returns the endpoint of t.
func (r *resolver) resolve(t Target) (endpoint, error) {
	e := endpoint{
		name:           first(t.Name, t.Address),
		host:           first(r.get("HostName"), r.alias),
		port:           t.Port,
		user:           first(t.User, r.get("User"), currentUser()),
		identitiesOnly: strings.EqualFold(r.get("IdentitiesOnly"), "yes"),
		connectTimeout: t.ConnectTimeout,
		keepAlive:      t.KeepAlive,
		keepAliveCount: defaultKeepAliveCount,
		become:         t.Become != "",
	}
	e.host = strings.ReplaceAll(e.host, "%h", r.alias)
	if e.port == 0 {
		e.port = r.number("Port", defaultPort)
	}
	e.hostKey = e.address()
	if alias := r.get("HostKeyAlias"); alias != "" {
		e.hostKey = alias + ":22"
	}
	r.timing(&e)
	r.files(t, &e)
	r.restrict(&e)
	r.route(t, &e)
	r.check(t)
	return e, r.err
}

// timing fills in timeouts.
func (r *resolver) timing(e *endpoint) {
	if e.connectTimeout <= 0 {
		e.connectTimeout = r.seconds("ConnectTimeout", defaultConnectTimeout)
	}
	if e.keepAlive <= 0 {
		e.keepAlive = r.seconds("ServerAliveInterval", defaultKeepAlive)
		e.keepAliveCount = r.number("ServerAliveCountMax", defaultKeepAliveCount)
	}
}

// files fills in the paths of keys, known_hosts and the agent's socket.
func (r *resolver) files(t Target, e *endpoint) {
	e.identities = r.expandAll(t.Identities, *e)
	if len(e.identities) == 0 {
		e.identities = r.expandAll(r.getAll("IdentityFile"), *e)
	}
	e.identities = slices.DeleteFunc(e.identities, func(f string) bool { return f == "none" })
	e.chosen = len(e.identities) > 0
	if !e.chosen {
		for _, f := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
			e.identities = append(e.identities, filepath.Join(r.home, ".ssh", f))
		}
	}
	e.agent = r.agentSocket(*e)
	if e.knownHosts = r.expandAll(t.KnownHosts, *e); len(e.knownHosts) > 0 {
		for _, f := range e.knownHosts {
			if _, err := os.Stat(f); err != nil {
				r.fail(fmt.Errorf("read known_hosts: %w", err))
			}
		}
		return
	}
	personal := first(r.get("UserKnownHostsFile"), "~/.ssh/known_hosts")
	global := first(r.get("GlobalKnownHostsFile"), "/etc/ssh/ssh_known_hosts")
	for _, f := range r.expandAll(strings.Fields(personal+" "+global), *e) {
		if _, err := os.Stat(f); err == nil {
			e.knownHosts = append(e.knownHosts, f)
		}
	}
}

// route fills in the jump hosts.
func (r *resolver) route(t Target, e *endpoint) {
	jump := first(t.ProxyJump, r.get("ProxyJump"))
	if jump == "" && t.ProxyJump == "" {
		if command := r.get("ProxyCommand"); command != "" && !strings.EqualFold(command, "none") {
			r.fail(fmt.Errorf("%s: ProxyCommand of %s is not supported; use ProxyJump", r.config.path, r.alias))
		}
	}
	hops, err := parseJump(jump)
	if err != nil {
		r.fail(err)
	}
	// A ProxyJump for all hosts names the jump host as its own: it is the one that is reached directly.
	if len(hops) > 0 && hops[len(hops)-1].is(r.alias, e.port) {
		hops = nil
	}
	e.jump = hops
}

func (r *resolver) check(t Target) {
	switch {
	case r.alias == "":
		r.fail(errors.New("target has no address"))
	case strings.HasPrefix(r.alias, "-") || strings.ContainsAny(r.alias, " \t\r\n\x00/"):
		r.fail(fmt.Errorf("address %q is not a host", r.alias))
	case t.Port < 0 || t.Port > 65535:
		r.fail(fmt.Errorf("port %d is not between 1 and 65535", t.Port))
	case t.Become != "" && t.Become != "sudo":
		r.fail(fmt.Errorf("become %q is not supported; use \"sudo\"", t.Become))
	}
}

func (r *resolver) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *resolver) get(keyword string) string {
	v, err := r.config.get(r.alias, keyword)
	if err != nil {
		r.fail(err)
	}
	return v
}

func (r *resolver) getAll(keyword string) []string {
	v, err := r.config.getAll(r.alias, keyword)
	if err != nil {
		r.fail(err)
	}
	return v
}

func (r *resolver) number(keyword string, otherwise int) int {
	v := r.get(keyword)
	if v == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(v, 10, 16)
	if err != nil || n == 0 {
		r.fail(fmt.Errorf("%s: %s %s of %s is not a number from 1 to 65535", r.config.path, keyword, v, r.alias))
	}
	return int(n)
}

// seconds reads a time as ssh_config writes it: seconds, or a number with a unit such as 1m30s. "none" and 0 are the default.
func (r *resolver) seconds(keyword string, otherwise time.Duration) time.Duration {
	v := r.get(keyword)
	if v == "" || v == "0" || strings.EqualFold(v, "none") {
		return otherwise
	}
	if n, err := strconv.ParseUint(v, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	d, err := time.ParseDuration(strings.ToLower(v))
	if err != nil || d <= 0 {
		r.fail(fmt.Errorf("%s: %s %s of %s is not a time", r.config.path, keyword, v, r.alias))
	}
	return d
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

func currentUser() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return os.Getenv("USER")
}
