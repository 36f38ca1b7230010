package rollout

import (
	"net/netip"
	"strings"
)

// gateSubject is what a gate asks about, in place of {host}, {address} and {pool}.
type gateSubject struct{ host, address, pool string }

func asIs(s string) string { return s }

// fillURL fills in a URL: path and query escape what they are given each in their
// part, and hosts stay names. What comes after # is not sent.
func (x gateSubject) fillURL(text string, path, query func(string) string) string {
	text, _, _ = strings.Cut(text, "#")
	text, params, asks := strings.Cut(text, "?")
	scheme, rest, whole := strings.Cut(text, "://")
	if !whole {
		scheme, rest = "", text
	}
	end := strings.IndexByte(rest+"/", '/')
	filled := x.fillText(rest[:end], asIs, true) + x.fillText(rest[end:], path, false)
	if whole {
		filled = scheme + "://" + filled
	}
	if asks {
		filled += "?" + x.fillText(params, query, false)
	}
	return filled
}

// fillText replaces the placeholders in a text. An IPv6 address stands in brackets
// where it is the host of a URL, and where a port follows.
func (x gateSubject) fillText(text string, escape func(string) string, host bool) string {
	var b strings.Builder
	for text != "" {
		name, value := x.placeholderAt(text)
		if name == "" {
			b.WriteByte(text[0])
			text = text[1:]
			continue
		}
		text = text[len(name):]
		if ip, err := netip.ParseAddr(value); err == nil && ip.Is6() {
			bare := !strings.HasSuffix(b.String(), "[") && (host || strings.HasPrefix(text, ":"))
			if host {
				value = strings.ReplaceAll(value, "%", "%25") // a zone, as RFC 6874 has it
			}
			if value = escape(value); bare {
				value = "[" + value + "]"
			}
			b.WriteString(value)
			continue
		}
		b.WriteString(escape(value))
	}
	return b.String()
}

// placeholderAt is the placeholder with which a text begins, and what it stands for.
func (x gateSubject) placeholderAt(text string) (name, value string) {
	for _, p := range [][2]string{{"{host}", x.host}, {"{address}", x.address}, {"{pool}", x.pool}} {
		if strings.HasPrefix(text, p[0]) {
			return p[0], p[1]
		}
	}
	return "", ""
}

// withoutUser is a URL without the name and password that may stand before its
// host.
func withoutUser(url string) string {
	scheme, rest, whole := strings.Cut(url, "://")
	if !whole {
		return url
	}
	end := strings.IndexAny(rest+"/", "/?#")
	return scheme + "://" + rest[strings.LastIndexByte(rest[:end], '@')+1:]
}
