package planview

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// batchView is a batch as a plan shows it: its hosts by pool and zone.
type batchView struct {
	parts []batchPart
	soak  engine.Duration // soak before the batch
}

// batchPart has the hosts of one pool in a batch. Hosts without disruption need
// no budget and have a part of their own.
type batchPart struct {
	pool, zone    string
	nonDisruptive bool
	restartsFirst bool // the hosts only restart services in this batch
	canary        bool
	hosts         []string
	pace          int // number of hosts at a time, if one line stands for many batches
}

func (v *planView) viewBatch(b engine.Batch) batchView {
	out := batchView{soak: b.Soak}
	for _, pool := range b.Pools {
		canary := slices.Contains(b.Canaries, pool)
		parts := []batchPart{{pool: pool, canary: canary}, {pool: pool, canary: canary, restartsFirst: true}, {pool: pool, nonDisruptive: true}}
		for _, h := range b.Hosts {
			hp := v.byHost[h]
			switch {
			case hp == nil || hp.Pool != pool:
			case hp.NonDisruptive():
				parts[2].hosts = append(parts[2].hosts, h)
			case hp.RestartsFirst:
				parts[1].hosts, parts[1].zone = append(parts[1].hosts, h), hp.Zone
			default:
				parts[0].hosts, parts[0].zone = append(parts[0].hosts, h), hp.Zone
			}
		}
		out.parts = append(out.parts, slices.DeleteFunc(parts, func(s batchPart) bool { return len(s.hosts) == 0 })...)
	}
	return out
}

// isAlike reports whether two batches without a soak between them differ only
// in their hosts.
func (b batchView) isAlike(other batchView) bool {
	return b.soak == 0 && slices.EqualFunc(b.parts, other.parts, func(x, y batchPart) bool {
		return x.pool == y.pool && x.zone == y.zone && x.nonDisruptive == y.nonDisruptive && x.restartsFirst == y.restartsFirst && x.canary == y.canary && len(x.hosts) == len(y.hosts)
	})
}

// minAlikeBatches is the number of alike batches in a row that are shown as one line.
const minAlikeBatches = 4

func (v *planView) writeBatches() {
	views := make([]batchView, 0, len(v.p.Batches))
	for _, b := range v.p.Batches {
		views = append(views, v.viewBatch(b))
	}
	for i := 0; i < len(views); {
		end := i + 1
		for end < len(views) && views[end].isAlike(views[i]) {
			end++
		}
		v.writeSoak(views[i].soak, i == 0)
		if end-i < minAlikeBatches || v.verbose {
			v.writeLine("  batch %d  %s", i+1, v.formatBatch(views[i]))
			v.writeGates(v.p.Batches[i])
			i++
			continue
		}
		v.writeLine("  batches %d to %d  %s", i+1, end, v.formatAlikeBatches(views[i:end]))
		i = end
	}
}

func (v *planView) formatAlikeBatches(views []batchView) string {
	all := batchView{parts: slices.Clone(views[0].parts)}
	for n := range all.parts {
		all.parts[n].pace = len(all.parts[n].hosts)
		all.parts[n].hosts = nil
		for _, view := range views {
			all.parts[n].hosts = append(all.parts[n].hosts, view.parts[n].hosts...)
		}
	}
	return v.formatBatch(all)
}

func (v *planView) formatBatch(b batchView) string {
	var parts []string
	for _, s := range b.parts {
		where := "pool " + s.pool
		if s.zone != "" {
			where += ", zone " + s.zone
		}
		if s.nonDisruptive {
			where += ", without disruption"
		}
		if s.restartsFirst {
			where += ", only restarts services"
		}
		if s.canary {
			where += ", canary"
		}
		if s.pace > 0 {
			where += fmt.Sprintf(", %d at a time", s.pace)
		}
		parts = append(parts, strings.Join(textutil.FoldNames(s.hosts), ", ")+" "+v.style.Faint("("+where+")"))
	}
	return strings.Join(parts, "  ")
}

func (v *planView) writeSoak(d engine.Duration, first bool) {
	switch {
	case d <= 0:
	case first:
		v.writeLine("  soak     another %s, as canaries that match already have not run for long enough", d.Trimmed())
	default:
		v.writeLine("  soak     %s", d.Trimmed())
	}
}

func (v *planView) writeGates(b engine.Batch) {
	if !v.verbose {
		return
	}
	for i, s := range slices.Concat(b.Before, b.After) {
		when := "before"
		if i >= len(b.Before) {
			when = "after"
		}
		v.writeLine("      %s it: %s, at most %s%s", when, s.Name, s.Timeout, OperationDetail(s.Do))
	}
}
