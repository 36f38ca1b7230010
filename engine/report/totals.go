package report

import (
	"fmt"
	"strings"

	"holdfast/engine"
)

// totals is a plan in numbers.
func (v *planView) totals() string {
	p := v.p
	matching := count(len(p.Matching), "host matches", "hosts match")
	drifted := count(len(p.Drift), "host has drifted, which is only reported", "hosts have drifted, which is only reported")
	switch {
	case p.Empty():
		return v.style.green("Nothing to do: "+matching+".") + "\n"
	case len(p.Hosts)+len(p.Excluded)+len(p.Refusals)+len(p.Unfinished) == 0:
		but := []string{matching}
		if len(p.Drift) > 0 {
			but = append(but, drifted)
		}
		if len(p.UnhealthyClusters) > 0 {
			but = append(but, count(len(p.UnhealthyClusters), "etcd cluster is not healthy", "etcd clusters are not healthy"))
		}
		return v.style.yellow("Nothing to do: "+strings.Join(but, ", ")+".") + "\n"
	}
	change := v.toChange()
	if len(p.Refusals)+len(p.Unfinished) > 0 {
		change = "refused, " + count(len(p.Hosts), "host would", "hosts would") + " change"
	}
	text := fmt.Sprintf("Plan: %s; %s, %d left out.\n", change, matching, len(v.out))
	if len(p.Drift) > 0 {
		text += "Drift: " + drifted + ".\n"
	}
	return text
}

// toChange counts the hosts that are changed, and how; now, or in a window.
func (v *planView) toChange() string {
	later := map[string]bool{}
	for _, x := range v.later {
		later[x.Host] = true
	}
	hosts, reboots, quiet, staged := 0, 0, 0, 0
	for _, hp := range v.p.Hosts {
		if later[hp.Host] {
			continue
		}
		if len(hp.Sequence) == 0 && len(hp.Stage) > 0 && len(v.p.Refusals) == 0 {
			staged++
			continue
		}
		hosts++
		if takes(hp.Actions, engine.RebootAction) {
			reboots++
		}
		if hp.NonDisruptive() {
			quiet++
		}
	}
	if hosts == 0 && len(later) > 0 {
		return "nothing is disrupted now, " + count(len(later), "host waits", "hosts wait") + " for the maintenance window"
	}
	if hosts == 0 && staged > 0 {
		return count(staged, "host", "hosts") + " to stage, nothing to disrupt"
	}
	how := []string{count(reboots, "reboot", "reboots")}
	if quiet > 0 {
		how = append(how, fmt.Sprintf("%d without disruption", quiet))
	}
	text := fmt.Sprintf("%s to change (%s) in %s", count(hosts, "host", "hosts"), strings.Join(how, ", "), count(len(v.p.Batches), "batch", "batches"))
	if len(later) > 0 {
		text += fmt.Sprintf(", %d more in the maintenance window", len(later))
	}
	return text
}
