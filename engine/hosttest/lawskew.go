package hosttest

import (
	"fmt"
	"math"
	"slices"
)

// The law about the versions that pools run at the same time.

// versionLabel is what an OS says of itself.
func (s *Site) versionLabel(digest string) string {
	if label, ok := s.Labels[digest]; ok {
		return label
	}
	return digest
}

// lawBooted is asked when a host has come up with the OS that a run has ordered
// it to boot.
func (h *Host) lawBooted() {
	if b := h.orderedBy; b != nil {
		b.lawSkew(h, h.booted)
	}
}

// lawSkew: no host of a pool goes to a version that is further from that of any
// host of a pool that it comes after, or that comes after it, than max_skew. What
// the run has not seen, because somebody else has done it meanwhile or because the
// host could not be reached, it is not to be blamed for; and going back to what
// ran before is bound by nothing.
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

// skewLimit is how many minor versions may lie between hosts of two pools, if
// that is limited.
func (s *Site) skewLimit(pool, other string) (limit int, ok bool) {
	limit = math.MaxInt
	for _, pair := range [][2]string{{pool, other}, {other, pool}} {
		if p, _ := s.Inventory.Pool(pair[0]); p.MaxSkew != nil && s.comesAfter(pair[0], pair[1]) {
			limit, ok = min(limit, *p.MaxSkew), true
		}
	}
	return limit, ok
}

// comesAfter reports whether a pool comes after the other, directly or through
// others.
func (s *Site) comesAfter(pool, other string) bool {
	p, _ := s.Inventory.Pool(pool)
	return slices.ContainsFunc(p.After, func(first string) bool { return first == other || s.comesAfter(first, other) })
}

// minorDistance is how many minor versions are between two labels such as 4.18.1. What
// is of another major version is as far away as can be; what is no version is not.
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

// TooFar reports whether the host may not go to the OS that it is to run, as
// things are, because of what hosts of other pools run; or because a host of a
// pool that its own comes after may not.
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
