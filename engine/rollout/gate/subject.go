package gate

import (
	"net/netip"
	"strings"
)

// Subject is the host or the pools that a gate is asked about. It has the
// values of {host}, {address} and {pool}.
type Subject struct{ Host, Address, Pool string }

func asIs(s string) string { return s }

// fillURL replaces the placeholders in a URL. It escapes the values in path and
// query, keeps host names, and drops the fragment.
func (x Subject) fillURL(text string, path, query func(string) string) string {
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

// fillText replaces the placeholders in a text. It puts brackets around an IPv6
// address that is the host of a URL, or that comes before a port.
func (x Subject) fillText(text string, escape func(string) string, host bool) string {
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
				value = strings.ReplaceAll(value, "%", "%25") // escape the zone of an IPv6 address, see RFC 6874
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

func (x Subject) placeholderAt(text string) (name, value string) {
	for _, p := range [][2]string{{"{host}", x.Host}, {"{address}", x.Address}, {"{pool}", x.Pool}} {
		if strings.HasPrefix(text, p[0]) {
			return p[0], p[1]
		}
	}
	return "", ""
}

func withoutUser(url string) string {
	scheme, rest, whole := strings.Cut(url, "://")
	if !whole {
		return url
	}
	end := strings.IndexAny(rest+"/", "/?#")
	return scheme + "://" + rest[strings.LastIndexByte(rest[:end], '@')+1:]
}
