package simulator

import (
	"fmt"
	"math"
	"slices"
)

// The law about max_skew.

func (s *Site) versionLabel(digest string) string {
	if label, ok := s.Labels[digest]; ok {
		return label
	}
	return digest
}

// lawBooted checks the laws about an OS that a run has ordered a host to boot.
func (h *Host) lawBooted() {
	if b := h.orderedBy; b != nil {
		b.lawSkew(h, h.booted)
	}
}

// lawSkew checks that no host gets a version that is more than max_skew away from a host of a
// related pool. A run is not to blame for hosts that it could not know, and a rollback is always
// allowed.
func (b *Bastion) lawSkew(h *Host, digest string) {
	for _, o := range b.site.all {
		limit, ok := b.site.skewLimit(h.host.Pool, o.host.Pool)
		mine := o.orderedBy == b
		if !ok || !mine && (!b.followed.reached[o.Name] || wasUnseen(o.bootedAt, b.seen[o.Name])) {
			continue
		}
		if n := minorDistance(b.site.versionLabel(digest), b.site.versionLabel(o.booted)); n > limit {
			b.reportViolation("%s of pool %s goes to %s, which is too far from %s, where %s of pool %s is",
				h.Name, h.host.Pool, b.site.versionLabel(digest), b.site.versionLabel(o.booted), o.Name, o.host.Pool)
		}
	}
}

func (s *Site) skewLimit(pool, other string) (limit int, ok bool) {
	limit = math.MaxInt
	for _, pair := range [][2]string{{pool, other}, {other, pool}} {
		if p, _ := s.Inventory.Pool(pair[0]); p.MaxSkew != nil && s.comesAfter(pair[0], pair[1]) {
			limit, ok = min(limit, *p.MaxSkew), true
		}
	}
	return limit, ok
}

func (s *Site) comesAfter(pool, other string) bool {
	p, _ := s.Inventory.Pool(pool)
	return slices.ContainsFunc(p.After, func(first string) bool { return first == other || s.comesAfter(first, other) })
}

// minorDistance returns the number of minor versions between two labels such as 4.18.1. It is the
// maximum for different major versions, and 0 if a label is no version.
func minorDistance(a, b string) int {
	var x, y struct{ major, minor int }
	if _, err := fmt.Sscanf(a, "%d.%d", &x.major, &x.minor); err != nil {
		return 0
	}
	if _, err := fmt.Sscanf(b, "%d.%d", &y.major, &y.minor); err != nil {
		return 0
	}
	if x.major != y.major {
		return math.MaxInt
	}
	return max(x.minor-y.minor, y.minor-x.minor)
}

// TooFar reports whether max_skew keeps the host from its desired OS, directly or because of a pool
// that its own pool comes after.
func (s *Site) TooFar(host string) (far bool) {
	s.settle()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tooFar(s.hosts[host])
}

func (s *Site) tooFar(h *Host) bool {
	p, _ := s.Inventory.Pool(h.host.Pool)
	if h.runsIt() {
		return false
	}
	return slices.ContainsFunc(s.all, func(o *Host) bool {
		if s.comesAfter(p.Name, o.host.Pool) && s.tooFar(o) {
			return true
		}
		limit, ok := s.skewLimit(p.Name, o.host.Pool)
		return ok && minorDistance(s.versionLabel(p.OS.Digest()), s.versionLabel(o.booted)) > limit
	})
}
