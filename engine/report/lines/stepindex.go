package lines

import (
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/planview"
	"holdfast/engine/textutil"
)

// planSteps has the steps of a plan by host and name.
type planSteps map[string]engine.Step

func stepKey(host, step string) string { return host + "\x00" + step }

func indexSteps(p engine.Plan) planSteps {
	all := planSteps{}
	add := func(host string, steps []engine.Step) {
		for _, s := range steps {
			all[stepKey(host, s.Name)] = s
		}
	}
	add("", slices.Concat(p.Start, p.Before))
	for _, hp := range p.Hosts {
		add(hp.Host, slices.Concat(hp.Stage, hp.Sequence, hp.Rollback))
	}
	for _, b := range p.Batches {
		add("", slices.Concat(b.Before, b.After))
	}
	return all
}

// isNotable reports whether a step gets a line even if it is short: it changes
// the host, asks a gate, or runs a command of the operator.
func (p planSteps) isNotable(e event.Event) bool {
	s, ok := p[stepKey(e.Host, e.Step)]
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
	if s, ok := p.steps[stepKey(e.Host, e.Step)]; ok {
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
