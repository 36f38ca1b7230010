package report

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
	soak  engine.Duration // before the batch
}

// batchPart holds the hosts that a batch has of one pool. Hosts without disruption use no budget and have a
// part of their own.
type batchPart struct {
	pool, zone    string
	nonDisruptive bool
	canary        bool
	hosts         []string
	pace          int // hosts at a time, if one line stands for many batches
}

func (v *planView) viewBatch(b engine.Batch) batchView {
	out := batchView{soak: b.Soak}
	for _, pool := range b.Pools {
		parts := []batchPart{{pool: pool, canary: slices.Contains(b.Canaries, pool)}, {pool: pool, nonDisruptive: true}}
		for _, h := range b.Hosts {
			hp := v.byHost[h]
			switch {
			case hp == nil || hp.Pool != pool:
			case hp.NonDisruptive():
				parts[1].hosts = append(parts[1].hosts, h)
			default:
				parts[0].hosts, parts[0].zone = append(parts[0].hosts, h), hp.Zone
			}
		}
		out.parts = append(out.parts, slices.DeleteFunc(parts, func(s batchPart) bool { return len(s.hosts) == 0 })...)
	}
	return out
}

// isAlike reports whether two batches without a soak between them differ only in their hosts.
func (b batchView) isAlike(other batchView) bool {
	return b.soak == 0 && slices.EqualFunc(b.parts, other.parts, func(x, y batchPart) bool {
		return x.pool == y.pool && x.zone == y.zone && x.nonDisruptive == y.nonDisruptive && x.canary == y.canary && len(x.hosts) == len(y.hosts)
	})
}

// minAlikeBatches is the number of alike batches in a row that are shown as one line.
const minAlikeBatches = 4

// writeBatches writes the batches in order. Unless verbose, it folds long rows of alike batches into one
// line.
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
		if s.canary {
			where += ", canary"
		}
		if s.pace > 0 {
			where += fmt.Sprintf(", %d at a time", s.pace)
		}
		parts = append(parts, strings.Join(textutil.FoldNames(s.hosts), ", ")+" "+v.style.faint("("+where+")"))
	}
	return strings.Join(parts, "  ")
}

// exclusionGroup holds the excluded hosts with one kind of reason.
type exclusionGroup struct {
	why  engine.ExclusionKind
	text string
}

// maxExclusionRows is the number of hosts with one kind of reason before they are folded into one line with
// an example.
const maxExclusionRows = 10

// groupExclusions groups hosts by their reason. Unless all is set it folds many hosts of one kind, even if
// their reasons differ.
func groupExclusions(list []engine.Exclusion, all bool) []exclusionGroup {
	kinds := map[engine.ExclusionKind]int{}
	for _, x := range list {
		kinds[x.Kind]++
	}
	type key struct {
		why    engine.ExclusionKind
		reason string
	}
	var order []key
	hosts := map[key][]string{}
	for _, x := range list {
		k := key{x.Kind, x.Reason}
		if kinds[x.Kind] > maxExclusionRows && !all {
			k.reason = ""
		}
		if hosts[k] == nil {
			order = append(order, k)
		}
		hosts[k] = append(hosts[k], x.Host)
	}
	groups := make([]exclusionGroup, 0, len(order))
	for _, k := range order {
		text := strings.Join(textutil.FoldNames(hosts[k]), ", ")
		if k.reason != "" {
			text += ": " + k.reason
		} else {
			text += fmt.Sprintf(" (%d hosts)", len(hosts[k])) + exampleReason(list, k.why)
		}
		groups = append(groups, exclusionGroup{k.why, text})
	}
	return groups
}

func exampleReason(list []engine.Exclusion, why engine.ExclusionKind) string {
	i := slices.IndexFunc(list, func(x engine.Exclusion) bool { return x.Kind == why })
	return ", such as " + list[i].Host + ": " + list[i].Reason
}
