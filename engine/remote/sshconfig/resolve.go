package sshconfig

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

// Resolver fills in a Target from ssh_config and the defaults. Its methods keep the first error in err, and Resolve returns
// it.
type Resolver struct {
	Config Config
	Alias  string // the name to look up in ssh_config
	Home   string
	Agent  string // default agent socket
	Warn   func(string)
	err    error
}

// Resolve fills in a target.
func (r *Resolver) Resolve(t Target) (Endpoint, error) {
	e := Endpoint{
		Name:           cmp.Or(t.Name, t.Address),
		host:           cmp.Or(r.configValue("HostName"), r.Alias),
		port:           t.Port,
		User:           cmp.Or(t.User, r.configValue("User"), currentUser()),
		IdentitiesOnly: strings.EqualFold(r.configValue("IdentitiesOnly"), "yes"),
		ConnectTimeout: t.ConnectTimeout,
		KeepAlive:      t.KeepAlive,
		KeepAliveCount: defaultKeepAliveCount,
		Become:         t.Become != "",
	}
	e.host = strings.ReplaceAll(e.host, "%h", r.Alias)
	if e.port == 0 {
		e.port = r.configNumber("Port", defaultPort)
	}
	e.HostKey = e.Address()
	if alias := r.configValue("HostKeyAlias"); alias != "" {
		e.HostKey = alias + ":22"
	}
	r.resolveTimeouts(&e)
	r.resolveFiles(t, &e)
	r.readRestrictions(&e)
	r.resolveJumpHosts(t, &e)
	r.checkTarget(t)
	return e, r.err
}

func (r *Resolver) resolveTimeouts(e *Endpoint) {
	if e.ConnectTimeout <= 0 {
		e.ConnectTimeout = r.configTime("ConnectTimeout", defaultConnectTimeout)
	}
	if e.KeepAlive <= 0 {
		e.KeepAlive = r.configTime("ServerAliveInterval", defaultKeepAlive)
		e.KeepAliveCount = r.configNumber("ServerAliveCountMax", defaultKeepAliveCount)
	}
}

func (r *Resolver) resolveFiles(t Target, e *Endpoint) {
	e.Identities = r.expandNames(t.Identities, *e)
	if len(e.Identities) == 0 {
		e.Identities = r.expandNames(r.configValues("IdentityFile"), *e)
	}
	e.Identities = slices.DeleteFunc(e.Identities, func(f string) bool { return f == "none" })
	e.IdentitiesNamed = len(e.Identities) > 0
	if !e.IdentitiesNamed {
		for _, f := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
			e.Identities = append(e.Identities, filepath.Join(r.Home, ".ssh", f))
		}
	}
	e.Agent = r.agentSocket(*e)
	if e.KnownHosts = r.expandNames(t.KnownHosts, *e); len(e.KnownHosts) > 0 {
		for _, f := range e.KnownHosts {
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
			e.KnownHosts = append(e.KnownHosts, f)
		}
	}
}

func (r *Resolver) resolveJumpHosts(t Target, e *Endpoint) {
	jump := cmp.Or(t.ProxyJump, r.configValue("ProxyJump"))
	if jump == "" && t.ProxyJump == "" {
		if command := r.configValue("ProxyCommand"); command != "" && !strings.EqualFold(command, "none") {
			r.setError(fmt.Errorf("%s: ProxyCommand of %s is not supported; use ProxyJump", r.Config.path, r.Alias))
		}
	}
	hops, err := parseJump(jump)
	if err != nil {
		r.setError(err)
	}
	// A ProxyJump of "Host *" also applies to the jump host itself. But this host is reached directly.
	if len(hops) > 0 && hops[len(hops)-1].isHost(r.Alias, e.port) {
		hops = nil
	}
	e.Jump = hops
}

func (r *Resolver) checkTarget(t Target) {
	switch {
	case r.Alias == "":
		r.setError(errors.New("target has no address"))
	case strings.HasPrefix(r.Alias, "-") || strings.ContainsAny(r.Alias, " \t\r\n\x00/"):
		r.setError(fmt.Errorf("address %q is not a host", r.Alias))
	case t.Port < 0 || t.Port > 65535:
		r.setError(fmt.Errorf("port %d is not between 1 and 65535", t.Port))
	case t.Become != "" && t.Become != "sudo":
		r.setError(fmt.Errorf("become %q is not supported; use \"sudo\"", t.Become))
	}
}

func (r *Resolver) setError(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *Resolver) configValue(keyword string) string {
	v, err := r.Config.firstValue(r.Alias, keyword)
	if err != nil {
		r.setError(err)
	}
	return v
}

func (r *Resolver) configValues(keyword string) []string {
	v, err := r.Config.allValues(r.Alias, keyword)
	if err != nil {
		r.setError(err)
	}
	return v
}

func (r *Resolver) configNumber(keyword string, fallback int) int {
	v := r.configValue(keyword)
	if v == "" {
		return fallback
	}
	n, err := strconv.ParseUint(v, 10, 16)
	if err != nil || n == 0 {
		r.setError(fmt.Errorf("%s: %s %s of %s is not a number from 1 to 65535", r.Config.path, keyword, v, r.Alias))
	}
	return int(n)
}

// configTime returns a time of ssh_config: a number of seconds, or numbers with the units h, m and s, such as 1m30s. For
// "none", 0 and a missing keyword, configTime returns fallback.
func (r *Resolver) configTime(keyword string, fallback time.Duration) time.Duration {
	v := r.configValue(keyword)
	if v == "" || v == "0" || strings.EqualFold(v, "none") {
		return fallback
	}
	if n, err := strconv.ParseUint(v, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	d, err := time.ParseDuration(strings.ToLower(v))
	if err != nil || d <= 0 {
		r.setError(fmt.Errorf("%s: %s %s of %s is not a time", r.Config.path, keyword, v, r.Alias))
	}
	return d
}

func currentUser() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return os.Getenv("USER")
}
