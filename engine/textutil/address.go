package textutil

import (
	"net/netip"
	"strings"
)

// NormalizeAddress returns the one spelling of all spellings of a name or an IP address of a machine, to compare two of them:
// a name in lower case without its final dot, and an IP address in its shortest form. ssh looks up host keys by the spelling
// of the inventory, so no address is replaced by this one.
func NormalizeAddress(s string) string {
	s = strings.TrimSuffix(strings.ToLower(s), ".")
	if ip, err := netip.ParseAddr(s); err == nil {
		return ip.Unmap().String()
	}
	return s
}

// IsSameAddress reports whether two texts are spellings of one name or IP address.
func IsSameAddress(a, b string) bool { return NormalizeAddress(a) == NormalizeAddress(b) }
