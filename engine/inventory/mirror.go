package inventory

import (
	"fmt"

	"holdfast/engine"
)

func (b *builder) readMirror(n *node) *engine.Mirror {
	r := b.newReader(n)
	m := &engine.Mirror{Repository: r.readPath("repository"), Rate: max(0, r.readSize("rate")), HostRate: max(0, r.readSize("host_rate"))}
	b.checkRate(n, "rate", m.Rate)
	b.checkRate(n, "host_rate", m.HostRate)
	return m
}

func (b *builder) checkRate(n *node, name string, rate int64) {
	if rate > 0 && rate < engine.MinMirrorRate {
		b.addError(n.args[name].Expr.Range(), name+" is too low", "write at least \"32KiB\": ostree gives up slower transfers")
	}
}

// checkSource adds an error for an OS that cannot come from the bastion.
func (b *builder) checkSource(n *node, o engine.OS) {
	if o.Source == "" {
		return
	}
	at := n.args["source"].Expr.Range()
	switch {
	case o.Source != engine.BastionSource:
		b.addError(at, fmt.Sprintf("source must be %q, not %q", engine.BastionSource, o.Source), "leave it out for hosts that fetch the OS as configured on them")
	case o.Driver != "ostree":
		b.addError(at, "source cannot be used here", fmt.Sprintf("the driver %s does not fetch from the bastion in this version", o.Driver))
	case o.Commit == "":
		b.addError(at, "source cannot be used here", "the os block names no commit, so nothing is fetched")
	case b.inv.Mirror == nil:
		b.addError(at, "the site has no mirror", "add mirror { repository = \"FOLDER\" } to the site block")
	}
}
