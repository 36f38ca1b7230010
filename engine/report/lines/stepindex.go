package lines

import (
	"strings"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/planview"
	"holdfast/engine/report/termtext"
	"holdfast/engine/textutil"
)

// planSteps finds the steps of a plan by host and name.
type planSteps struct {
	plan  engine.Plan
	hosts map[string]*engine.HostPlan
}

func indexSteps(p engine.Plan) planSteps { return planSteps{plan: p, hosts: p.ByHost()} }

// find returns a step of a host by its name, which is safe for a terminal. Without a host it
// returns a step around all hosts.
func (p planSteps) find(host, name string) (engine.Step, bool) {
	for _, list := range p.stepsOf(host) {
		for _, s := range list {
			if s.Name == name || termtext.Safe(s.Name) == name {
				return termtext.Safe(s), true
			}
		}
	}
	return engine.Step{}, false
}

func (p planSteps) stepsOf(host string) [][]engine.Step {
	if hp := p.hosts[host]; hp != nil {
		return [][]engine.Step{hp.Stage, hp.Sequence, hp.Rollback}
	}
	lists := [][]engine.Step{p.plan.Start, p.plan.Before}
	for _, b := range p.plan.Batches {
		lists = append(lists, b.Before, b.After)
	}
	return lists
}

// isNotable reports whether a step gets a line even if it is short: it changes
// the host, asks a gate, or runs a command of the operator.
func (p planSteps) isNotable(e event.Event) bool {
	s, ok := p.find(e.Host, e.Step)
	return ok && (s.ChangesHost || s.Do.Gate != nil || s.Do.Command != nil || s.Do.Exec != nil && s.Do.Exec.Display != "")
}

func (p *Writer) stepBeginText(e event.Event) string {
	if !p.Full {
		return ""
	}
	line := ""
	if place := EventSubject(e); place != engine.Bastion {
		line += place + ": "
	}
	line += e.Step + " begins"
	if s, ok := p.steps.find(e.Host, e.Step); ok {
		line += planview.OperationDetail(s.Do)
	}
	return p.Style.Faint("  " + commandName(line))
}

func (p *Writer) gatheredText(e event.Event) string {
	text := e.Message + " in " + e.Took.String()
	if len(p.unreached) > 0 {
		text += "; not reached: " + strings.Join(textutil.FoldNames(p.unreached), ", ")
		p.unreached = nil
	}
	return p.Style.Faint(text)
}

// EventSubject returns the host, the cluster or the pool of an event, or else
// the bastion.
func EventSubject(e event.Event) string {
	switch {
	case e.Host != "":
		return e.Host
	case e.Cluster != "":
		return e.Cluster
	case e.Pool != "":
		return "pool " + e.Pool
	}
	return engine.Bastion
}
