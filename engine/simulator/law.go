package simulator

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
)

// The laws that no run may break, as seen from the hosts. A run does not break a
// law by an event that it could not know, such as a host that became unavailable
// after the run had last gathered its facts.

func (b *Bastion) reportViolation(format string, args ...any) {
	what := fmt.Sprintf("run %s: ", b.ID) + fmt.Sprintf(format, args...)
	b.site.addToLog("BROKEN: %s", what)
	b.site.violations = append(b.site.violations, what+"\n  "+strings.Join(b.site.log, "\n  "))
}

func (h *Host) isDisrupted(now time.Time) bool {
	if h.rolledBy != "" && h.goes.IsZero() && !h.drained && h.isWell(now) && !h.lacksUnits() {
		h.rolledBy = ""
	}
	return h.rolledBy != ""
}

func (h *Host) lacksUnits() bool {
	enabled := h.enabledUnits()
	return slices.ContainsFunc(h.ran, func(u string) bool { return slices.Contains(enabled, u) && !slices.Contains(h.units, u) })
}

// lawDisrupt checks all laws about disruption, before a run drains a host or takes it down.
func (b *Bastion) lawDisrupt(h *Host, down bool, now time.Time) {
	b.lawOwn(h, "disrupted")
	if down && len(h.reboots) > 0 && h.booted == h.staged {
		b.reportViolation("%s is rebooted into the OS it runs", h.Name)
	}
	if down {
		b.lawJournaled(h, "reboot")
		b.lawFresh(h, now)
	}
	if c := b.site.clusters[h.host.Cluster]; c != nil {
		b.lawCluster(c, h, down, now)
	}
	b.lawPaused(h)
	b.lawPlanned(h)
	if !h.isDisrupted(now) {
		b.lawBegin(h, now)
		b.lawPool(h, now)
		h.rolledAt = now
	}
	h.rolledBy = b.ID
}

// lawCluster checks that one member of a cluster is disrupted at a time, never without a quorum,
// and not while another member is known to be unhealthy.
func (b *Bastion) lawCluster(c *cluster, h *Host, down bool, now time.Time) {
	left := 0
	for _, m := range c.members {
		switch {
		case m == h:
		case m.isDisrupted(now):
			b.reportViolation("%s and %s of cluster %s are disrupted at once", h.Name, m.Name, c.name)
		case m.hasHealthyMember(now) || wasUnseen(m.lost, b.gathered[c.name]):
			left++
		case down:
			b.reportViolation("%s goes down while %s of cluster %s is not healthy", h.Name, m.Name, c.name)
		}
	}
	small := c.allowOutage && len(c.members) <= 2
	if down && left < c.quorum() && !small {
		b.reportViolation("%s goes down and leaves %d of %d voters of cluster %s", h.Name, left, len(c.members), c.name)
	}
	chosen := wasUnseen(c.elected, b.gathered[c.name]) // the members chose a leader, and no run could know
	if down && c.leader == h && len(c.members) > 1 && left > 0 && !small && !chosen {
		b.reportViolation("%s goes down while it leads cluster %s", h.Name, c.name)
	}
}

// lawPool checks that the unavailable hosts of a pool and of the site stay within the budgets,
// apart from hosts that were unavailable before.
func (b *Bastion) lawPool(h *Host, now time.Time) {
	p, _ := b.site.Inventory.Pool(h.host.Pool)
	size, gone, all := 0, []string{h.Name}, []string{h.Name}
	for _, o := range b.site.all {
		if o.host.Pool == p.Name {
			size++
		}
		if o == h || !b.knowsGone(o, !b.reports.adopted[h.Name], now) {
			continue
		}
		all = append(all, o.Name)
		if o.host.Pool == p.Name {
			gone = append(gone, o.Name)
		}
	}
	if limit := p.MaxUnavailable.Of(size); len(gone) > limit {
		b.reportViolation("pool %s loses %d hosts at once, its budget is %d: %v", p.Name, len(gone), limit, gone)
	}
	if limit, ok := b.site.siteBudget(); ok && len(all) > limit {
		b.reportViolation("the site loses %d hosts at once, its budget is %d: %v", len(all), limit, all)
	}
}

// knowsGone reports whether the host is unavailable and the run could know that. A run has to know
// the hosts that another run holds, because both gather holds after they took their own. A host
// that the run adopted was held before, and may be disrupted.
func (b *Bastion) knowsGone(h *Host, taken bool, now time.Time) bool {
	if h.isDisrupted(now) {
		return h.rolledBy == b.ID || !wasUnseen(h.rolledAt, b.seen[h.Name]) || taken && h.hold != nil && h.hold.Kind == engine.RunHold
	}
	return !h.up && b.missed[h.Name].After(h.lost)
}

// wasUnseen reports whether an event came after the facts were gathered. An event at the same
// moment may have come later.
func wasUnseen(happened, gathered time.Time) bool { return !happened.Before(gathered) }
