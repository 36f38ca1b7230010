package maintenance

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/standing"
	"holdfast/engine/textutil"
)

// budget is a max_unavailable, and the hosts that it counts.
type budget struct {
	of      string // "pool worker"
	members []engine.Host
	limit   engine.CountOrPercent
}

// findFullBudgets returns the budgets of pools and of the site that would be exceeded while the hosts are off. Hosts that are unavailable
// already count, and those that leave the site do not.
func (s Site) findFullBudgets(hosts []string) (full []string) {
	inv, _ := standing.WithoutLeaving(s.Inventory)
	var budgets []budget
	for _, p := range inv.Pools {
		members := slices.DeleteFunc(slices.Clone(inv.Hosts), func(h engine.Host) bool { return h.Pool != p.Name })
		budgets = append(budgets, budget{"pool " + p.Name, members, p.MaxUnavailable})
	}
	if inv.MaxUnavailable.Set {
		budgets = append(budgets, budget{"site " + inv.Site, inv.Hosts, inv.MaxUnavailable})
	}
	for _, b := range budgets {
		if text := s.describeExcess(b, hosts); text != "" {
			full = append(full, text)
		}
	}
	return full
}

// describeExcess returns "" if the hosts fit into the budget, or it counts none of them.
func (s Site) describeExcess(b budget, hosts []string) string {
	taken := 0
	var others []string
	for _, h := range b.members {
		p, _ := s.Inventory.Pool(h.Pool)
		absence := (standing.View{}).Judge(h, p, s.factsOf(h)).DescribeAbsence()
		switch {
		case slices.Contains(hosts, h.Name):
			taken++
		case absence != "":
			others = append(others, h.Name+" "+absence)
		}
	}
	away := taken + len(others)
	if taken == 0 || away <= b.limit.Of(len(b.members)) {
		return ""
	}
	text := fmt.Sprintf("%s: %d of %d hosts would be unavailable, and max_unavailable is %s", b.of, away, len(b.members), b.limit)
	if len(others) > 0 {
		text += " (" + strings.Join(textutil.AndMore(others[:min(maxNamed, len(others))], len(others)), "; ") + ")"
	}
	return text
}
