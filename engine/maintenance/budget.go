package maintenance

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/planner"
	"holdfast/engine/standing"
	"holdfast/engine/textutil"
)

// findFullBudgets returns the budgets of pools and of the site that would be exceeded while the hosts are off. Hosts that are unavailable
// already count, and those that leave the site do not.
func (s Site) findFullBudgets(hosts []string) (full []string) {
	inv, _ := standing.WithoutLeaving(s.Inventory)
	limits := inv.UnavailableLimits()
	for _, p := range inv.Pools {
		members := slices.DeleteFunc(slices.Clone(inv.Hosts), func(h engine.Host) bool { return h.Pool != p.Name })
		if text := s.describeExcess(members, hosts, limits[p.Name]); text != "" {
			full = append(full, "pool "+p.Name+": "+text)
		}
	}
	if limit, limited := limits[""]; limited {
		if text := s.describeExcess(inv.Hosts, hosts, limit); text != "" {
			full = append(full, "site "+inv.Site+": "+text)
		}
	}
	return full
}

// planBudgetCheck returns the step that reads the holds of other hosts again, under the hold of the host: another person may have
// read the same site before either of them took a hold. If both read the holds of each other, neither goes on.
func (s Site) planBudgetCheck(host string) engine.Step {
	h, _ := s.Inventory.Host(host)
	undo := engine.Step{Name: "end hold", Do: engine.Op{EndHold: &engine.EndHold{}}}
	return engine.Step{Name: "check budget", Do: engine.Op{Budget: &engine.Budget{Pool: h.Pool}}, Undo: &undo}
}

// CountBudgets counts the budgets for the hosts of a plan that are about to stop their work.
func (s Site) CountBudgets(plan engine.MaintenancePlan) planner.Budgets {
	var stopping []engine.Host
	for _, m := range plan.Hosts {
		if h, _ := s.Inventory.Host(m.Host); m.Failure == nil {
			stopping = append(stopping, h)
		}
	}
	return planner.CountBudgets(s.Inventory, s.Facts, stopping)
}

// describeExcess returns "" if the hosts fit into the budget of the members, or it counts none of them.
func (s Site) describeExcess(members []engine.Host, hosts []string, limit int) string {
	taken := 0
	var others []string
	for _, h := range members {
		if slices.Contains(hosts, h.Name) {
			taken++
		} else if absence := (standing.View{}).Judge(h, engine.Pool{}, s.factsOf(h)).DescribeAbsence(); absence != "" {
			others = append(others, h.Name+" "+absence)
		}
	}
	away := taken + len(others)
	if taken == 0 || away <= limit {
		return ""
	}
	text := fmt.Sprintf("%d of %d hosts would be unavailable, and max_unavailable is %d", away, len(members), limit)
	if len(others) > 0 {
		text += " (" + strings.Join(textutil.AndMore(others[:min(maxNamed, len(others))], len(others)), "; ") + ")"
	}
	return text
}
