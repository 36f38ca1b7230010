package lines

import (
	"cmp"
	"fmt"
	"strings"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report"
	"holdfast/engine/report/membersview"
)

// membersText returns the line of an event of a run that changes the members of an etcd cluster, or restores it.
func (p *Writer) membersText(e event.Event) string {
	if e.Type == event.RunStarted {
		return p.eventText(e) + ": " + cmp.Or(e.Start.Command.Name, "members") + " of etcd cluster " + e.Start.Cluster
	}
	return membersview.EventText(e)
}

// maintenanceText returns the line of an event of the work of a person on holds and power.
func (p *Writer) maintenanceText(e event.Event) string {
	switch e.Type {
	case event.RunStarted:
		return p.eventText(e) + ": " + string(e.Start.Maintenance)
	case event.MaintenancePlanned:
		return p.foundText(*e.Maintenance)
	case event.HostDone:
		return "  " + p.Style.Green(e.Host) + ": " + e.Message
	case event.HostFailed:
		return failureLines("  "+p.Style.Red(e.Host), e)
	case event.RunEnded:
		return fmt.Sprintf("exit %d: %s", e.End.Exit, report.EndText(*e.End))
	case event.Warned, event.Interrupted, event.StepProgress:
		return p.eventText(e)
	case event.StepStarted, event.StepEnded:
		if p.Full {
			return p.eventText(e)
		}
	default: // the other events have no line
	}
	return ""
}

// foundText returns the notices, and the holds that were found, one a line.
func (p *Writer) foundText(plan engine.MaintenancePlan) string {
	var found []string
	for _, n := range plan.Notices {
		found = append(found, "  "+p.Style.Yellow("Warning:")+" "+n.Text)
	}
	for _, h := range plan.Hosts {
		if h.Found != "" {
			found = append(found, "  "+h.Host+": "+h.Found)
		}
	}
	return strings.Join(found, "\n")
}
