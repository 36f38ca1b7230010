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
	case len(p.Hosts)+len(p.Excluded)+len(p.Refusals) == 0:
		return v.style.yellow("Nothing to do: "+matching+", "+drifted+".") + "\n"
	}
	reboots, quiet := 0, 0
	for _, hp := range p.Hosts {
		if takes(hp.Actions, engine.RebootAction) {
			reboots++
		}
		if hp.Quiet() {
			quiet++
		}
	}
	how := []string{count(reboots, "reboot", "reboots")}
	if quiet > 0 {
		how = append(how, fmt.Sprintf("%d without disruption", quiet))
	}
	text := fmt.Sprintf("Plan: %s to change (%s) in %s; %s, %d left out.\n", count(len(p.Hosts), "host", "hosts"), strings.Join(how, ", "),
		count(len(p.Batches), "batch", "batches"), matching, len(p.Excluded))
	if len(p.Drift) > 0 {
		text += "Drift: " + drifted + ".\n"
	}
	return text
}
