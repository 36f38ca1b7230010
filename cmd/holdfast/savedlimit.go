package main

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// checkSavedHosts refuses a saved plan for hosts that the inventory does not have any more.
func (s *site) checkSavedHosts(p engine.Plan, file string) error {
	names := slices.Clone(p.Selected)
	for _, hp := range p.Hosts {
		names = append(names, hp.Host)
	}
	known := map[string]bool{}
	for _, h := range s.inv.Hosts {
		known[h.Name] = true
	}
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return known[name] })
	if len(names) == 0 {
		return nil
	}
	return failWith(engine.ExitFailed, fmt.Errorf("refused: the plan in %s has hosts that the inventory does not have: %s; nothing was touched: plan again", file, strings.Join(textutil.FoldNames(names), ", ")))
}

// checkSameLimit refuses a limit with other hosts than those of a saved plan, which is carried out exactly or not at all.
func (s *site) checkSameLimit(p engine.Plan, file, limit string) error {
	var selected, all []string
	for _, h := range s.selectedHosts() {
		selected = append(selected, h.Name)
	}
	for _, h := range s.inv.Hosts {
		all = append(all, h.Name)
	}
	of := p.Selected
	if len(of) == 0 {
		of = all
	}
	slices.Sort(selected)
	if slices.Equal(selected, slices.Sorted(slices.Values(of))) {
		return nil
	}
	return fmt.Errorf("apply: --limit %s selects other hosts than the plan in %s, which was saved for %s; leave --limit out, or save another plan with it",
		limit, file, strings.Join(textutil.FoldNames(of), ", "))
}
