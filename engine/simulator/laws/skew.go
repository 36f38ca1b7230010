package laws

import (
	"fmt"
	"math"
	"slices"
)

// This file has the law about max_skew.

func (w *Observer) versionLabel(digest string) string {
	if label, ok := w.Labels[digest]; ok {
		return label
	}
	return digest
}

// CheckBooted checks the laws about an OS that a run has ordered a host to
// boot.
func (w *Observer) CheckBooted(h *Host) {
	if h.orderedBy != nil {
		h.orderedBy.checkSkew(h, h.Booted)
	}
}

// checkSkew checks that no host gets a version that is more than max_skew away
// from a host of a related pool. Hosts that the run could not know do not
// count, and a rollback is always allowed.
func (r *Run) checkSkew(h *Host, digest string) {
	for _, o := range r.observer.Hosts {
		limit, ok := r.observer.skewLimit(h.Pool, o.Pool)
		mine := o.orderedBy == r
		if !ok || !mine && (!r.followed.reached[o.Name] || wasUnseen(o.BootedAt, r.seen[o.Name])) {
			continue
		}
		if n := minorDistance(r.observer.versionLabel(digest), r.observer.versionLabel(o.Booted)); n > limit {
			r.reportViolation("%s of pool %s goes to %s, which is too far from %s, where %s of pool %s is",
				h.Name, h.Pool, r.observer.versionLabel(digest), r.observer.versionLabel(o.Booted), o.Name, o.Pool)
		}
	}
}

func (w *Observer) skewLimit(pool, other string) (limit int, ok bool) {
	limit = math.MaxInt
	for _, pair := range [][2]string{{pool, other}, {other, pool}} {
		if p, _ := w.Inventory.Pool(pair[0]); p.MaxSkew != nil && w.comesAfter(pair[0], pair[1]) {
			limit, ok = min(limit, *p.MaxSkew), true
		}
	}
	return limit, ok
}

func (w *Observer) comesAfter(pool, other string) bool {
	p, _ := w.Inventory.Pool(pool)
	return slices.ContainsFunc(p.After, func(first string) bool { return first == other || w.comesAfter(first, other) })
}

// minorDistance returns the number of minor versions between two labels such as
// 4.18.1. It returns the highest number for different major versions, and 0 if
// a label is not a version.
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

// TooFar reports whether max_skew keeps the host from its desired OS, either
// for its own pool or for a pool before it.
func (w *Observer) TooFar(host string) (far bool) { return w.tooFar(w.findHost(host)) }

func (w *Observer) tooFar(h *Host) bool {
	p := w.poolOf(h)
	if w.runsDesiredOS(h) {
		return false
	}
	return slices.ContainsFunc(w.Hosts, func(o *Host) bool {
		if w.comesAfter(p.Name, o.Pool) && w.tooFar(o) {
			return true
		}
		limit, ok := w.skewLimit(p.Name, o.Pool)
		return ok && minorDistance(w.versionLabel(p.OS.Digest()), w.versionLabel(o.Booted)) > limit
	})
}
