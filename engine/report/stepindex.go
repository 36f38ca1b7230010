package report

import (
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// planSteps are the steps of a plan, by where they are done and by name.
type planSteps map[string]engine.Step

func stepKey(host, step string) string { return host + "\x00" + step }

// indexSteps indexes the steps of a plan. Those of batches are of no host.
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

// isNotable reports whether a step is worth a line however short it is: it changes
// the host, asks a gate, or runs what somebody has written.
func (p planSteps) isNotable(e engine.Event) bool {
	s, ok := p[stepKey(e.Host, e.Step)]
	return ok && (s.ChangesHost || s.Do.Gate != nil || s.Do.Command != nil || s.Do.Exec != nil && s.Do.Exec.Display != "")
}

// stepBeginText is the line of a step that begins, where every step is shown.
func (p *Plain) stepBeginText(e engine.Event) string {
	if !p.Full {
		return ""
	}
	line := ""
	if place := eventSubject(e); place != engine.Bastion {
		line += place + ": "
	}
	line += e.Step + " begins"
	if s, ok := p.steps[stepKey(e.Host, e.Step)]; ok {
		line += operationDetail(s.Do)
	}
	return p.Style.faint("  " + commandName(line))
}

// gatheredText says how many hosts were reached, and names those that were not.
func (p *Plain) gatheredText(e engine.Event) string {
	text := e.Message + " in " + e.Took.String()
	if len(p.unreached) > 0 {
		text += "; not reached: " + strings.Join(textutil.FoldNames(p.unreached), ", ")
		p.unreached = nil
	}
	return p.Style.faint(text)
}
