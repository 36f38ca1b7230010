package approval

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
)

// CheckReached compares a plan without work with a saved plan. It returns an error
// unless the hosts of the saved plan have no work because they have reached the
// states that it would bring about. For this, they must still belong to the plan,
// and have the same settings and aims. aims has the present aim of each host.
func CheckReached(p, saved engine.Plan, aims map[string]string) error {
	if err := checkPlay(p, saved); err != nil {
		return err
	}
	known := map[string]bool{}
	for _, host := range p.Matching {
		known[host] = true
	}
	for _, x := range p.Excluded {
		known[x.Host] = true
	}
	for _, d := range p.Drift {
		known[d.Host] = true
	}
	now := p.ByHost()
	var left, rest engine.Plan // the saved work on hosts with other aims, and their work now
	for _, hp := range saved.Hosts {
		if isPlanned := now[hp.Host] != nil; (known[hp.Host] || isPlanned) && aims[hp.Host] == hp.Aim {
			continue
		} else if isPlanned {
			rest.Hosts = append(rest.Hosts, *now[hp.Host])
		}
		left.Hosts = append(left.Hosts, hp)
	}
	diffs := slices.Concat(changedSettings(p.Settings, saved.Settings), changedWork(rest, left))
	if len(diffs) == 0 {
		return nil
	}
	return fmt.Errorf("%s:\n  %s\nplan again", inventoryChanged, strings.Join(diffs, "\n  "))
}

// inventoryChanged is the cause if the settings or the aims of a saved plan differ.
const inventoryChanged = "the inventory, or the playbook, has changed since the plan was saved"

func checkPlay(p, saved engine.Plan) error {
	if p.Play != saved.Play {
		return fmt.Errorf("the saved plan is for play %q, and this is play %q", saved.Play, p.Play)
	}
	return nil
}
