package etcd

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// dnsNameRule matches names of hosts. Some hosts have names with an underscore.
var dnsNameRule = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?$`)

const maxDNSName = 253

// memberURL is a URL of a member that has nothing but a scheme, a host and a port. A member, or anybody who controls one, can
// advertise any text; these URLs get into the environment of commands and into files of other hosts.
type memberURL struct {
	scheme, host string
	port         string // "": none
}

func parseMemberURL(text string) (memberURL, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return memberURL{}, false
	}
	m := memberURL{scheme: u.Scheme, host: u.Hostname(), port: u.Port()}
	if ip, err := netip.ParseAddr(m.host); err == nil {
		if ip.Zone() != "" {
			return memberURL{}, false
		}
	} else if len(m.host) > maxDNSName || !dnsNameRule.MatchString(m.host) {
		return memberURL{}, false
	}
	if n, err := strconv.ParseUint(m.port, 10, 16); m.port != "" && (err != nil || n == 0) {
		return memberURL{}, false
	}
	return m, true
}

// String returns the URL, without a user, a path or a query.
func (m memberURL) String() string {
	host := m.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if m.port != "" {
		host = net.JoinHostPort(m.host, m.port)
	}
	return m.scheme + "://" + host
}

// cleanPeerURLs returns the peer URLs of a member, or a problem if one of them, or the name, is not fit for the settings of
// other members.
func cleanPeerURLs(m *pb.Member) (urls []string, problem string) {
	if strings.ContainsFunc(m.Name, func(r rune) bool { return r < ' ' || strings.ContainsRune(`,="'\`, r) }) {
		return nil, fmt.Sprintf("member %s has the name %q, with which etcd cannot be set up on other hosts", hexID(m.ID), printableText(m.Name))
	}
	for _, text := range m.PeerURLs {
		u, ok := parseMemberURL(text)
		if !ok {
			return nil, fmt.Sprintf("member %s has the peer URL %q, which is not a URL of http or https with a host; its host may be in the hands of somebody else", hexID(m.ID), printableText(text))
		}
		urls = append(urls, u.String())
	}
	return urls, ""
}
