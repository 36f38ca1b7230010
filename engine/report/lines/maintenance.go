package lines

import (
	"fmt"
	"strings"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report"
)

// isMaintenance reports whether the run of an event is the work of a person on holds. Such a run has no plan, no batches, and no
// summary of hosts.
func (p *Writer) isMaintenance(e event.Event) bool {
	if e.Type == event.RunStarted {
		p.maintenance = e.Start.Maintenance != ""
	}
	return p.maintenance
}

func (p *Writer) maintenanceText(e event.Event) string {
	switch e.Type {
	case event.RunStarted:
		return p.eventText(e) + ": " + string(e.Start.Maintenance)
	case event.MaintenancePlanned:
		return p.foundText(*e.Maintenance)
	case event.HostDone:
		return "  " + p.Style.Green(e.Host) + ": " + e.Message
	case event.HostFailed:
		return "  " + p.Style.Red(e.Host) + ": " + e.Failure.Cause
	case event.RunEnded:
		return fmt.Sprintf("exit %d: %s", e.End.Exit, report.EndText(*e.End))
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
