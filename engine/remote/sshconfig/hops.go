package sshconfig

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"path"
	"strconv"
	"strings"
)

// Hop is one element of ProxyJump.
type Hop struct {
	user, host string
	port       int // 0 if not given
}

// uriScheme begins a host that is written as ssh://user@host:port.
const uriScheme = "ssh://"

// parseJump reads "[user@]host[:port],…". Each hop may be written as ssh://user@host:port. "none" and "" mean no hops.
func parseJump(s string) ([]Hop, error) {
	if s == "" || strings.EqualFold(s, "none") {
		return nil, nil
	}
	var hops []Hop
	for part := range strings.SplitSeq(s, ",") {
		h, err := parseHop(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("read ProxyJump %q: %w", s, err)
		}
		hops = append(hops, h)
	}
	return hops, nil
}

func parseHop(s string) (Hop, error) {
	s = strings.TrimSuffix(strings.TrimPrefix(s, uriScheme), "/")
	var h Hop
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		h.user, s = s[:i], s[i+1:]
	}
	h.host = strings.Trim(s, "[]")
	if host, port, err := net.SplitHostPort(s); err == nil {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return Hop{}, fmt.Errorf("%q is not a port", port)
		}
		h.host, h.port = host, int(n)
	}
	if h.host == "" || strings.Contains(h.host, ":") && !isIPAddress(h.host) {
		return Hop{}, fmt.Errorf("%q is not a host", h.host)
	}
	return h, nil
}

// isIPAddress reports whether a text is an IP address, perhaps with a zone.
func isIPAddress(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

func (h Hop) isHost(alias string, port int) bool {
	return h.host == alias && (h.port == port || h.port == 0)
}

// Target returns the target of a jump host on the way to t, with the keys and known_hosts of t.
func (h Hop) Target(t Target) Target {
	return Target{
		Name: h.host, Address: h.host, Port: h.port, User: h.user,
		Identities: t.Identities, KnownHosts: t.KnownHosts, Config: t.Config, ConnectTimeout: t.ConnectTimeout, KeepAlive: t.KeepAlive,
	}
}

// jumpOfCommand returns the jump host of a ProxyCommand such as `ssh -q -W %h:%p gate`. ok is false for other commands.
func jumpOfCommand(words []string) (jump string, ok bool) {
	if len(words) == 0 || path.Base(words[0]) != "ssh" {
		return "", false
	}
	var user, port, host string
	forwards := false
	for words = words[1:]; len(words) > 0; words = words[1:] {
		option := words[0]
		if !strings.HasPrefix(option, "-") {
			if host != "" {
				return "", false
			}
			host = option
			if i := strings.LastIndexByte(host, '@'); i > 0 && !strings.HasPrefix(host, uriScheme) {
				user, host = cmp.Or(user, host[:i]), host[i+1:]
			}
			continue
		}
		if option == "-q" || option == "-x" || option == "-T" {
			continue
		}
		argument := option[min(2, len(option)):]
		if argument == "" && len(words) > 1 {
			argument, words = words[1], words[1:]
		}
		switch {
		case strings.HasPrefix(option, "-W") && (argument == "%h:%p" || argument == "[%h]:%p"):
			forwards = true
		case strings.HasPrefix(option, "-l"):
			user = cmp.Or(user, argument) // for ssh, the first one counts
		case strings.HasPrefix(option, "-p"):
			port = cmp.Or(port, argument)
		default:
			return "", false
		}
	}
	if !forwards || host == "" || strings.ContainsAny(user+port+host, ",%$`") {
		return "", false
	}
	switch {
	case strings.HasPrefix(host, uriScheme):
		return host, user == "" && port == ""
	case strings.ContainsAny(host, ":[]") && !isIPAddress(host): // for ssh, it has no port
		return "", false
	case port != "":
		host = net.JoinHostPort(host, port)
	}
	if user != "" {
		host = user + "@" + host
	}
	return host, true
}
