package remote

import (
	"cmp"
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

// resolver fills in a Target from ssh_config and the defaults. It keeps the first error in err, so that callers check once.
type resolver struct {
	config sshConfig
	alias  string // the name to look up in ssh_config
	home   string
	agent  string // default agent socket
	warn   func(string)
	err    error
}

func (r *resolver) resolveEndpoint(t Target) (sshEndpoint, error) {
	e := sshEndpoint{
		name:           cmp.Or(t.Name, t.Address),
		host:           cmp.Or(r.configValue("HostName"), r.alias),
		port:           t.Port,
		user:           cmp.Or(t.User, r.configValue("User"), currentUser()),
		identitiesOnly: strings.EqualFold(r.configValue("IdentitiesOnly"), "yes"),
		connectTimeout: t.ConnectTimeout,
		keepAlive:      t.KeepAlive,
		keepAliveCount: defaultKeepAliveCount,
		become:         t.Become != "",
	}
	e.host = strings.ReplaceAll(e.host, "%h", r.alias)
	if e.port == 0 {
		e.port = r.configNumber("Port", defaultPort)
	}
	e.hostKey = e.address()
	if alias := r.configValue("HostKeyAlias"); alias != "" {
		e.hostKey = alias + ":22"
	}
	r.resolveTimeouts(&e)
	r.resolveFiles(t, &e)
	r.readRestrictions(&e)
	r.resolveJumpHosts(t, &e)
	r.checkTarget(t)
	return e, r.err
}

func (r *resolver) resolveTimeouts(e *sshEndpoint) {
	if e.connectTimeout <= 0 {
		e.connectTimeout = r.configTime("ConnectTimeout", defaultConnectTimeout)
	}
	if e.keepAlive <= 0 {
		e.keepAlive = r.configTime("ServerAliveInterval", defaultKeepAlive)
		e.keepAliveCount = r.configNumber("ServerAliveCountMax", defaultKeepAliveCount)
	}
}

func (r *resolver) resolveFiles(t Target, e *sshEndpoint) {
	e.identities = r.expandNames(t.Identities, *e)
	if len(e.identities) == 0 {
		e.identities = r.expandNames(r.configValues("IdentityFile"), *e)
	}
	e.identities = slices.DeleteFunc(e.identities, func(f string) bool { return f == "none" })
	e.identitiesNamed = len(e.identities) > 0
	if !e.identitiesNamed {
		for _, f := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
			e.identities = append(e.identities, filepath.Join(r.home, ".ssh", f))
		}
	}
	e.agent = r.agentSocket(*e)
	if e.knownHosts = r.expandNames(t.KnownHosts, *e); len(e.knownHosts) > 0 {
		for _, f := range e.knownHosts {
			if _, err := os.Stat(f); err != nil {
				r.setError(fmt.Errorf("read known_hosts: %w", err))
			}
		}
		return
	}
	personal := cmp.Or(r.configValue("UserKnownHostsFile"), "~/.ssh/known_hosts")
	global := cmp.Or(r.configValue("GlobalKnownHostsFile"), "/etc/ssh/ssh_known_hosts")
	for _, f := range r.expandNames(strings.Fields(personal+" "+global), *e) {
		if _, err := os.Stat(f); err == nil {
			e.knownHosts = append(e.knownHosts, f)
		}
	}
}

func (r *resolver) resolveJumpHosts(t Target, e *sshEndpoint) {
	jump := cmp.Or(t.ProxyJump, r.configValue("ProxyJump"))
	if jump == "" && t.ProxyJump == "" {
		if command := r.configValue("ProxyCommand"); command != "" && !strings.EqualFold(command, "none") {
			r.setError(fmt.Errorf("%s: ProxyCommand of %s is not supported; use ProxyJump", r.config.path, r.alias))
		}
	}
	hops, err := parseJump(jump)
	if err != nil {
		r.setError(err)
	}
	// A ProxyJump for all hosts also applies to the jump host itself, which is reached directly.
	if len(hops) > 0 && hops[len(hops)-1].isHost(r.alias, e.port) {
		hops = nil
	}
	e.jump = hops
}

func (r *resolver) checkTarget(t Target) {
	switch {
	case r.alias == "":
		r.setError(errors.New("target has no address"))
	case strings.HasPrefix(r.alias, "-") || strings.ContainsAny(r.alias, " \t\r\n\x00/"):
		r.setError(fmt.Errorf("address %q is not a host", r.alias))
	case t.Port < 0 || t.Port > 65535:
		r.setError(fmt.Errorf("port %d is not between 1 and 65535", t.Port))
	case t.Become != "" && t.Become != "sudo":
		r.setError(fmt.Errorf("become %q is not supported; use \"sudo\"", t.Become))
	}
}

func (r *resolver) setError(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *resolver) configValue(keyword string) string {
	v, err := r.config.firstValue(r.alias, keyword)
	if err != nil {
		r.setError(err)
	}
	return v
}

func (r *resolver) configValues(keyword string) []string {
	v, err := r.config.allValues(r.alias, keyword)
	if err != nil {
		r.setError(err)
	}
	return v
}

func (r *resolver) configNumber(keyword string, otherwise int) int {
	v := r.configValue(keyword)
	if v == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(v, 10, 16)
	if err != nil || n == 0 {
		r.setError(fmt.Errorf("%s: %s %s of %s is not a number from 1 to 65535", r.config.path, keyword, v, r.alias))
	}
	return int(n)
}

// configTime reads a time of ssh_config: seconds, or a number with a unit such as 1m30s. "none" and 0 are the default.
func (r *resolver) configTime(keyword string, otherwise time.Duration) time.Duration {
	v := r.configValue(keyword)
	if v == "" || v == "0" || strings.EqualFold(v, "none") {
		return otherwise
	}
	if n, err := strconv.ParseUint(v, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	d, err := time.ParseDuration(strings.ToLower(v))
	if err != nil || d <= 0 {
		r.setError(fmt.Errorf("%s: %s %s of %s is not a time", r.config.path, keyword, v, r.alias))
	}
	return d
}

func currentUser() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return os.Getenv("USER")
}
