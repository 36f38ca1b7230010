package planner

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/standing"
	"holdfast/engine/textutil"
)

// Budgets counts, for one batch, the budgets of pools and of the site: the
// hosts that were unavailable when the batch was planned, and the hosts that
// the batch disrupts.
//
// A plan counts the facts of one moment, and a run from another bastion may
// count the same facts. So each host checks again, under its hold, whether
// other hosts have become unavailable. A run gathers facts after it takes its
// hold. If several hosts exceed a budget together, the last of them to gather
// facts therefore sees the holds of all others. So one check is enough, even if
// the host then waits for a long time.
//
// A host with the hold of a dead run does not check: every run has counted it
// as unavailable before. A batch of hosts that are only cordoned counts the hosts
// that do no work, as its plan does.
type Budgets struct {
	hosts          []engine.Host
	limits         map[string]int  // number of hosts that may be unavailable, by pool; "": of the site, if it has a budget
	unavailable    map[string]bool // the unavailable hosts themselves
	working        map[string]bool // of these, hosts outside of the batch that still work
	addsHosts      map[string]bool // pools in which the batch makes further hosts unavailable; "": the site
	disruptedPools map[string]bool // pools whose hosts the batch disrupts
}

// NewBudgets counts for the first batch of a plan that was made from these
// facts.
func NewBudgets(inv engine.Inventory, facts map[string]engine.Facts, plan engine.Plan) Budgets {
	batch := map[string]bool{}
	for _, name := range plan.Batches[0].Hosts {
		batch[name] = true
	}
	var disrupted []engine.Host
	for _, hp := range plan.Hosts {
		if batch[hp.Host] && hp.Disruptive() {
			disrupted = append(disrupted, engine.Host{Name: hp.Host, Pool: hp.Pool})
		}
	}
	return CountBudgets(inv, facts, disrupted)
}

// CountBudgets counts for hosts that are about to be disrupted together.
func CountBudgets(inv engine.Inventory, facts map[string]engine.Facts, disrupted []engine.Host) Budgets {
	b := Budgets{
		unavailable: map[string]bool{}, working: map[string]bool{}, addsHosts: map[string]bool{}, disruptedPools: map[string]bool{},
	}
	inv, _ = standing.WithoutLeaving(inv)
	b.hosts, b.limits = inv.Hosts, inv.UnavailableLimits()
	for _, h := range disrupted {
		b.unavailable[h.Name], b.disruptedPools[h.Pool] = true, true
	}
	for _, h := range inv.Hosts {
		f, seen := facts[h.Name]
		st := (standing.View{}).Judge(h, engine.Pool{}, f)
		switch isUnavailable, disrupts := !seen || st.IsUnavailable(), b.unavailable[h.Name]; {
		case disrupts && !isUnavailable:
			b.addsHosts[h.Pool], b.addsHosts[""] = true, true
		case isUnavailable && !disrupts:
			b.unavailable[h.Name] = true
			b.working[h.Name] = seen && st.StillWorks()
		}
	}
	return b
}

// countUnavailable returns how many hosts of a pool, or of the site, use up its budget, with the hosts that are away now.
func (b Budgets) countUnavailable(of string, now map[string]bool) (counted int, anew map[string]bool) {
	anew = map[string]bool{}
	for _, h := range b.hosts {
		switch isCounted := b.unavailable[h.Name] && (b.addsHosts[of] || !b.working[h.Name]); {
		case of != "" && h.Pool != of:
		case isCounted:
			counted++
		case now[h.Name]:
			anew[h.Name] = true
		}
	}
	return counted + len(anew), anew
}

// UncountedHosts lists the hosts that may have become unavailable since the
// count and that share a budget with the batch, in inventory order.
func (b Budgets) UncountedHosts() []engine.Host {
	_, site := b.limits[""]
	var others []engine.Host
	for _, h := range b.hosts {
		if (!b.unavailable[h.Name] || b.working[h.Name]) && (site || b.disruptedPools[h.Pool]) {
			others = append(others, h)
		}
	}
	return others
}

// Exceeded returns why a host of the batch, in that pool, must not be disrupted
// because others have become unavailable. It returns "" if the budgets allow
// the disruption. held reports whether somebody holds one of the others.
// Without a new unavailable host the budgets always allow the disruption,
// because the plan may include hosts that were unavailable before.
func (b Budgets) Exceeded(pool string, now []engine.Facts) (cause string, held bool) {
	away := map[string]bool{}
	for _, f := range now {
		away[f.Host] = isUnavailable(f)
	}
	for _, of := range []string{pool, ""} {
		limit, limited := b.limits[of]
		if !limited {
			continue
		}
		count, names := b.countUnavailable(of, away)
		if len(names) == 0 || count <= limit {
			continue
		}
		anew := slices.DeleteFunc(slices.Clone(now), func(f engine.Facts) bool { return !names[f.Host] })
		whose := "the site"
		if of != "" {
			whose = "pool " + of
		}
		cause := fmt.Sprintf("max_unavailable of %s is %d, and %d of its hosts would be unavailable: since the plan, %s", whose, limit, count, describeNewlyUnavailable(anew))
		return cause, slices.ContainsFunc(anew, engine.Facts.Held)
	}
	return "", false
}

func describeNewlyUnavailable(hosts []engine.Facts) string {
	const most = 3
	var said []string
	for _, held := range []bool{true, false} {
		for _, f := range hosts {
			if f.Held() == held {
				said = append(said, f.Host+" "+standing.View{}.JudgeFacts(f).DescribeAbsence())
			}
		}
	}
	return strings.Join(textutil.AndMore(said[:min(most, len(said))], len(said)), ", ")
}

// isUnavailable judges for a run without an ID, because a hold counts for everybody.
func isUnavailable(f engine.Facts) bool { return standing.View{}.JudgeFacts(f).IsUnavailable() }

func budgetStep(t engine.Target, adopt string) []engine.Step {
	if adopt != "" || !t.Contested {
		return nil
	}
	const timeout = engine.Duration(2 * time.Minute) // hosts that do not answer take long
	return []engine.Step{{Name: "check budget", On: t.Host.Name, Do: engine.Op{Budget: &engine.Budget{Pool: t.Pool.Name}}, Timeout: timeout}}
}

// hasContestedBudget reports whether other hosts could use up the budgets of a
// host. Other hosts cannot if all hosts of its pool may be unavailable, or if
// all these hosts are members of its cluster, because the quorum excludes a
// second member.
func (in Input) hasContestedBudget(x index, h engine.Host) bool {
	if l := in.Inventory.MaxUnavailable; l.Set && l.Of(len(in.Inventory.Hosts)) < len(in.Inventory.Hosts) {
		return true
	}
	size := x.sizes[h.Pool]
	return x.pools[h.Pool].MaxUnavailable.Of(size) < size && x.peers[[2]string{h.Pool, h.Cluster}] < size
}
