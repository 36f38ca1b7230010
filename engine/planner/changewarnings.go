package planner

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

func changeWarnings(work []engine.HostPlan) []string {
	type about struct{ pool, text string }
	hosts := map[about][]string{}
	var order []about
	for _, hp := range work {
		for _, c := range hp.Changes {
			for _, text := range c.Warnings {
				a := about{hp.Pool, text}
				if hosts[a] == nil {
					order = append(order, a)
				}
				if !slices.Contains(hosts[a], hp.Host) {
					hosts[a] = append(hosts[a], hp.Host)
				}
			}
		}
	}
	var list []string
	for _, a := range order {
		list = append(list, fmt.Sprintf("%s (pool %s): %s", strings.Join(textutil.FoldNames(hosts[a]), " "), a.pool, a.text))
	}
	return list
}
