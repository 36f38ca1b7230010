package hostconfig

import (
	"path"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/rules"
)

// A write that may prevent the run's account from logging in to the host, or
// from becoming root, is on probation: the host undoes it unless a new login
// proves itself. All writes are also judged on the host (see sh/wayin.sh); the
// paths below only decide which writes need the new login.

// probationTime is how long the host waits for the new login. It is longer than
// proveTimeout, so that the host never undoes a write while the run tries.
// docs/safety.md names it.
const (
	probationTime = 150 * time.Second
	proveTimeout  = engine.Duration(2 * time.Minute)
)

// loginTrees have the files that sshd, sudo, PAM and login shells read, and those
// of firewalls and networks.
var loginTrees = []string{
	"/etc/ssh", "/etc/sudoers", "/etc/sudoers.d", "/etc/sudo.conf", "/etc/pam.d", "/etc/pam.conf", "/etc/security", "/etc/nsswitch.conf", "/etc/authselect",
	"/etc/sssd", "/etc/krb5.conf", "/etc/krb5.conf.d", "/etc/shells", "/etc/login.defs", "/etc/nologin", "/etc/hosts.allow", "/etc/hosts.deny",
	"/etc/profile", "/etc/profile.d", "/etc/bashrc", "/etc/bash.bashrc", "/etc/environment", "/etc/crypto-policies", "/etc/selinux", "/etc/sysconfig/sshd", "/etc/default/ssh",
	"/etc/firewalld", "/etc/nftables.conf", "/etc/nftables", "/etc/sysconfig/nftables.conf", "/etc/sysconfig/iptables", "/etc/sysconfig/ip6tables",
	"/etc/NetworkManager", "/etc/systemd/network", "/etc/sysconfig/network-scripts", "/etc/network", "/etc/netplan",
}

// loginUnits begin the names of units that let people log in.
var loginUnits = []string{"ssh", "sshd", "systemd-user-sessions", "systemd-logind", "dbus", "sssd", "firewalld", "nftables", "iptables", "ip6tables", "NetworkManager", "systemd-networkd"}

// touchesLogin reports whether a change may prevent the run's account from
// logging in to the host or from becoming root.
func (x *configDiff) touchesLogin(c rules.Change) bool {
	switch c.Kind {
	case engine.UserKind:
		return x.facts.Users[c.Name].Connects
	case engine.GroupKind:
		_, exists := x.facts.Groups[c.Name]
		return exists
	case engine.UnitKind:
		return isLoginUnit(c.Name)
	case engine.FileKind, engine.DirectoryKind, engine.LinkKind:
		return x.isLoginPath(c.Name)
	case engine.OSKind, engine.KernelTypeKind, engine.KernelArgKind, engine.ExtensionKind:
	}
	return false
}

func (x *configDiff) isLoginPath(p string) bool {
	p = x.facts.OSLinks.Resolve(p)
	for _, tree := range loginTrees {
		if p == tree || strings.HasPrefix(p, tree+"/") || strings.HasPrefix(tree, p+"/") {
			return true
		}
	}
	homes := []string{"/root", "/var/roothome"}
	if path.IsAbs(x.facts.LoginHome) {
		homes = append(homes, x.facts.OSLinks.Resolve(path.Clean(x.facts.LoginHome)))
	}
	for _, tree := range []string{"/home", "/var/home"} { // without the facts of an account, any home may be the home of the run
		if rest, ok := strings.CutPrefix(p, tree+"/"); ok {
			name, _, _ := strings.Cut(rest, "/")
			homes = append(homes, path.Join(tree, name))
		}
	}
	for _, home := range homes {
		if p == home || strings.HasPrefix(p, home+"/.") || strings.HasPrefix(home, p+"/") {
			return true
		}
	}
	rest, ok := strings.CutPrefix(p, unitDir)
	return ok && isLoginUnit(rest)
}

func isLoginUnit(name string) bool {
	name, _, _ = strings.Cut(name, "/")
	name = strings.TrimSuffix(name, ".d")
	name = strings.TrimSuffix(name, path.Ext(name))
	name, _, _ = strings.Cut(name, "@")
	return slices.Contains(loginUnits, name) || strings.HasPrefix(name, "ssh") || strings.HasPrefix(name, "dbus-")
}
