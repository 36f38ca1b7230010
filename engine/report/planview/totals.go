package planview

import (
	"fmt"
	"strings"

	"holdfast/engine"
	"holdfast/engine/report/termtext"
)

func (v *planView) totalsText() string {
	p := v.p
	matching := termtext.FormatCount(len(p.Matching), "host matches", "hosts match")
	drifted := termtext.FormatCount(len(p.Drift), "host has drifted, which is only reported", "hosts have drifted, which is only reported")
	switch {
	case p.Empty():
		return v.style.Green("Nothing to do: "+matching+".") + "\n"
	case len(p.Hosts)+len(p.Excluded)+len(p.Refusals)+len(p.Unfinished) == 0:
		but := []string{matching}
		if len(p.Drift) > 0 {
			but = append(but, drifted)
		}
		if len(p.UnhealthyClusters) > 0 {
			but = append(but, termtext.FormatCount(len(p.UnhealthyClusters), "etcd cluster is not healthy", "etcd clusters are not healthy"))
		}
		return v.style.Yellow("Nothing to do: "+strings.Join(but, ", ")+".") + "\n"
	}
	change := v.changeCounts()
	if len(p.Refusals)+len(p.Unfinished) > 0 {
		change = "refused, " + termtext.FormatCount(len(p.Hosts), "host would", "hosts would") + " change"
	}
	text := fmt.Sprintf("Plan: %s; %s, %d excluded.\n", change, matching, len(v.excluded))
	if len(p.Drift) > 0 {
		text += "Drift: " + drifted + ".\n"
	}
	return text
}

func (v *planView) changeCounts() string {
	later := map[string]bool{}
	for _, x := range v.later {
		later[x.Host] = true
	}
	hosts, reboots, nonDisruptive, staged := 0, 0, 0, 0
	for _, hp := range v.p.Hosts {
		if later[hp.Host] {
			continue
		}
		if len(hp.Sequence) == 0 && len(hp.Stage) > 0 && len(v.p.Refusals) == 0 {
			staged++
			continue
		}
		hosts++
		if hasActionType(hp.Actions, engine.RebootAction) {
			reboots++
		}
		if hp.NonDisruptive() {
			nonDisruptive++
		}
	}
	if hosts == 0 && len(later) > 0 {
		return "nothing is disrupted now, " + termtext.FormatCount(len(later), "host waits", "hosts wait") + " for the maintenance window"
	}
	if hosts == 0 && staged > 0 {
		return termtext.FormatCount(staged, "host", "hosts") + " to stage, nothing to disrupt"
	}
	how := []string{termtext.FormatCount(reboots, "reboot", "reboots")}
	if nonDisruptive > 0 {
		how = append(how, fmt.Sprintf("%d without disruption", nonDisruptive))
	}
	text := fmt.Sprintf("%s to change (%s) in %s", termtext.FormatCount(hosts, "host", "hosts"), strings.Join(how, ", "), termtext.FormatCount(len(v.p.Batches), "batch", "batches"))
	if again := v.hostsToReplan(); len(again) > 0 {
		text += ", and " + termtext.FormatCount(len(again), "host again in a later one", "hosts again in later ones")
	}
	if len(later) > 0 {
		text += fmt.Sprintf(", %d more in the maintenance window", len(later))
	}
	return text
}
