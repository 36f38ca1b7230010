package sshconfig

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
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
	Run    func(command string) (bool, error) // of Match exec; nil: hosts that depend on its result are refused
	values values
	err    error
}

// Resolve fills in a target.
func (r *Resolver) Resolve(t Target) (Endpoint, error) {
	r.findValues(t)
	e := Endpoint{
		Name:           cmp.Or(t.Name, t.Address),
		host:           lowerName(cmp.Or(expandHostName(r.configValue("HostName"), r.Alias), r.Alias)),
		port:           t.Port,
		User:           cmp.Or(t.User, currentUser()),
		IdentitiesOnly: isYes(r.configValue("IdentitiesOnly")),
		ConnectTimeout: t.ConnectTimeout,
		KeepAlive:      t.KeepAlive,
		KeepAliveCount: defaultKeepAliveCount,
		Become:         t.Become != "",
	}
	if e.port == 0 {
		e.port = r.configNumber("Port", defaultPort)
	}
	if v := r.values.valueOf("User"); t.User == "" && v.firstWord() != "" {
		user, err := expandTokens(v.firstWord(), r.userTokens(e))
		if err != nil {
			r.setError(fmt.Errorf("%s: %w", v.at, err))
		}
		e.User = expandEnv(user)
	}
	e.HostKey = e.Address()
	if alias := r.configValue("HostKeyAlias"); alias != "" {
		e.HostKey, e.HostKeyAliased = aliasAddress(alias), true
	}
	r.resolveTimeouts(&e)
	r.resolveJumpHosts(t, &e)
	r.resolveFiles(t, &e)
	r.readRestrictions(&e)
	r.checkTarget(t)
	return e, r.err
}

// aliasAddress returns the host:port of a HostKeyAlias, which is a name as known_hosts has it: with a port only after brackets.
func aliasAddress(alias string) string {
	if _, _, err := net.SplitHostPort(alias); err == nil && strings.HasPrefix(alias, "[") {
		return alias
	}
	return net.JoinHostPort(alias, strconv.Itoa(defaultPort))
}

// findValues looks up the options of the host. The tokens of a command see the options of the lines above it.
func (r *Resolver) findValues(t Target) {
	expand := func(v values, text string) (string, error) {
		so := *r
		so.values = v
		e := Endpoint{
			host: cmp.Or(expandHostName(so.configValue("HostName"), r.Alias), r.Alias), port: cmp.Or(t.Port, so.configNumber("Port", defaultPort)),
			User: cmp.Or(t.User, so.configValue("User"), currentUser()),
		}
		return expandTokens(text, so.tokenValues(e))
	}
	var err error
	r.values, err = r.Config.findValues(query{alias: r.Alias, user: t.User, localUser: currentUser(), expand: expand, run: r.Run})
	if err != nil {
		r.setError(err)
	}
}

func expandHostName(name, alias string) string {
	if !strings.Contains(name, "%") {
		return name // without the cost of a Replacer
	}
	return strings.NewReplacer("%%", "%", "%h", alias).Replace(name)
}

// lowerName returns a name in lower case, and an address as it is.
func lowerName(host string) string {
	if _, err := netip.ParseAddr(host); err == nil {
		return host
	}
	return strings.ToLower(host)
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
	e.IdentitiesRequired = len(e.Identities) > 0
	if !e.IdentitiesRequired {
		e.Identities = r.expandNames(r.values.valueOf("IdentityFile").words, *e)
	}
	e.IdentitiesNamed = len(e.Identities) > 0
	e.Identities = slices.DeleteFunc(e.Identities, func(f string) bool { return strings.EqualFold(f, "none") })
	if !e.IdentitiesNamed {
		for _, f := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
			e.Identities = append(e.Identities, filepath.Join(r.Home, ".ssh", f))
		}
	}
	e.Agent = r.agentSocket(*e)
	if e.KnownHosts = r.expandNames(t.KnownHosts, *e); len(e.KnownHosts) > 0 {
		return
	}
	personal, global := r.values.valueOf("UserKnownHostsFile").words, r.values.valueOf("GlobalKnownHostsFile").words
	if len(personal) == 0 {
		personal = []string{"~/.ssh/known_hosts"}
	}
	if len(global) == 0 {
		global = []string{"/etc/ssh/ssh_known_hosts"}
	}
	for _, f := range r.expandNames(slices.Concat(personal, global), *e) {
		if _, err := os.Stat(f); err == nil {
			e.KnownHosts = append(e.KnownHosts, f)
		}
	}
}

func (r *Resolver) resolveJumpHosts(t Target, e *Endpoint) {
	e.jump = t.ProxyJump
	if e.jump == "" {
		e.jump, e.ProxyCommand = r.configuredRoute(*e)
	}
	hops, err := parseJump(e.jump)
	if err != nil {
		r.setError(err)
	}
	// A ProxyJump of "Host *" also applies to the jump host itself. But this host is reached directly.
	if len(hops) > 0 && hops[len(hops)-1].isHost(r.Alias, e.port) {
		hops, e.jump = nil, ""
	}
	e.Jump = hops
}

// configuredRoute returns the jump hosts or the ProxyCommand of ssh_config. A ProxyCommand that only runs ssh -W is a jump host.
func (r *Resolver) configuredRoute(e Endpoint) (jump string, command ProxyCommand) {
	if jump := r.values.valueOf("ProxyJump"); jump.firstWord() != "" {
		return r.expandValue(jump.firstWord(), jump.at, e), ProxyCommand{}
	}
	v := r.values.valueOf("ProxyCommand")
	if v.text == "" || strings.EqualFold(v.text, "none") {
		return "", ProxyCommand{}
	}
	if jump, ok := jumpOfCommand(v.words); ok {
		return jump, ProxyCommand{}
	}
	r.checkShellNames(v.at, e)
	if isYes(r.configValue("ProxyUseFdpass")) {
		r.setError(fmt.Errorf("%s: ProxyUseFdpass of %s is not supported; let the ProxyCommand pass the data on", r.values.valueOf("ProxyUseFdpass").at, r.Alias))
	}
	return "", ProxyCommand{Text: r.expandValue(v.text, v.at, e), At: v.at}
}

func (r *Resolver) expandValue(text, at string, e Endpoint) string {
	expanded, err := expandTokens(text, r.tokenValues(e))
	if err != nil {
		r.setError(fmt.Errorf("%s: %w", at, err))
	}
	return expanded
}

// checkShellNames refuses names that the shell which runs a ProxyCommand would interpret, and those that a program would take for an
// option. ssh refuses them, too.
func (r *Resolver) checkShellNames(at string, e Endpoint) {
	for _, name := range []string{e.host, r.Alias, e.User} {
		if strings.HasPrefix(name, "-") || strings.ContainsAny(name, "'`\"$\\;&<>|(){}*?!~# \t\r\n") {
			r.setError(fmt.Errorf("%s: ProxyCommand of %s: %q has a character that a shell interprets, or begins with -; rename it", at, r.Alias, name))
		}
	}
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

func (r *Resolver) configValue(keyword string) string { return r.values.valueOf(keyword).firstWord() }

func (v value) firstWord() string {
	if len(v.words) == 0 {
		return ""
	}
	return v.words[0]
}

func (r *Resolver) configNumber(keyword string, fallback int) int {
	v := r.configValue(keyword)
	if v == "" {
		return fallback
	}
	n, err := strconv.ParseUint(v, 10, 16)
	if err != nil || n == 0 {
		r.setError(fmt.Errorf("%s: %s %s of %s is not a number from 1 to 65535", r.values.valueOf(keyword).at, keyword, v, r.Alias))
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
		r.setError(fmt.Errorf("%s: %s %s of %s is not a time", r.values.valueOf(keyword).at, keyword, v, r.Alias))
	}
	return d
}

func currentUser() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return os.Getenv("USER")
}
