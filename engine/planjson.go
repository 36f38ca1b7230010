package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// planForm is the JSON form of a plan. Most steps are the same on many hosts, so
// it has each step once, and lists of steps have their names. The names of steps
// that are not the same differ.
type planForm[S Step | json.RawMessage] struct {
	planFields

	// These hide the fields of the plan with the same names.
	Start   []string    `json:"start,omitempty"`
	Before  []string    `json:"before,omitempty"`
	Hosts   []hostForm  `json:"hosts,omitempty"`
	Batches []batchForm `json:"batches,omitempty"`

	Steps map[string]S `json:"steps,omitempty"` // steps by name
	Texts ScriptTexts  `json:"texts,omitempty"` // texts of the scripts of the steps, by digest
}

type planFields Plan // without the methods of a plan

// hostForm is the JSON form of a HostPlan. Its steps are on the host, unless they say otherwise.
type hostForm struct {
	HostPlan
	Stage    []string `json:"stage,omitempty"`
	Sequence []string `json:"sequence"`
	Rollback []string `json:"rollback,omitempty"`
}

type batchForm struct {
	Batch
	Before []string `json:"before,omitempty"`
	After  []string `json:"after,omitempty"`
}

// MarshalJSON writes a plan with each of its steps once.
func (p Plan) MarshalJSON() ([]byte, error) {
	names := newStepNames()
	form := planForm[json.RawMessage]{planFields: planFields(p), Start: names.nameSteps("", p.Start), Before: names.nameSteps("", p.Before)}
	for _, hp := range p.Hosts {
		form.Hosts = append(form.Hosts, hostForm{
			HostPlan: hp,
			Stage:    names.nameSteps(hp.Host, hp.Stage), Sequence: names.nameSteps(hp.Host, hp.Sequence), Rollback: names.nameSteps(hp.Host, hp.Rollback),
		})
	}
	for _, b := range p.Batches {
		form.Batches = append(form.Batches, batchForm{Batch: b, Before: names.nameSteps("", b.Before), After: names.nameSteps("", b.After)})
	}
	form.Steps, form.Texts = names.steps, names.texts
	if names.err != nil {
		return nil, names.err
	}
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false) // whoever called json.Marshal escapes
	err := to.Encode(form)
	return text.Bytes(), err
}

// UnmarshalJSON reads a plan, and puts its steps and the texts of their scripts in
// place. A name without a step is an error. Equal steps of several hosts share
// their operations, so a caller must not change these.
func (p *Plan) UnmarshalJSON(text []byte) error {
	var form planForm[Step]
	if err := json.Unmarshal(text, &form); err != nil {
		return err
	}
	for name, s := range form.Steps {
		if s.Undo != nil && s.Undo.Undo != nil {
			return fmt.Errorf("step %q has an undo that has an undo; plan again", name) // each host gets copies of all of them
		}
	}
	if err := form.Texts.putTexts(form.Steps); err != nil {
		return err
	}
	read := stepsByName{steps: form.Steps}
	*p = Plan(form.planFields)
	p.Start, p.Before = read.findSteps("", form.Start), read.findSteps("", form.Before)
	p.Hosts, p.Batches = slices.Grow(p.Hosts, len(form.Hosts)), slices.Grow(p.Batches, len(form.Batches))
	for _, h := range form.Hosts {
		hp := h.HostPlan
		hp.Stage, hp.Sequence, hp.Rollback = read.findSteps(hp.Host, h.Stage), read.findSteps(hp.Host, h.Sequence), read.findSteps(hp.Host, h.Rollback)
		p.Hosts = append(p.Hosts, hp)
	}
	for _, b := range form.Batches {
		b.Batch.Before, b.Batch.After = read.findSteps("", b.Before), read.findSteps("", b.After)
		p.Batches = append(p.Batches, b.Batch)
	}
	return read.err
}

// stepsByName has the steps of a plan that is read.
type stepsByName struct {
	steps map[string]Step
	err   error // first error
}

// findSteps returns the steps with these names, on a host.
func (r *stepsByName) findSteps(host string, names []string) []Step {
	if names == nil {
		return nil
	}
	found := make([]Step, len(names))
	for i, name := range names {
		s, ok := r.steps[name]
		if !ok && r.err == nil {
			r.err = fmt.Errorf("a host has step %q, which the plan does not have; plan again", name)
		}
		found[i] = s.replaceHost("", host)
	}
	return found
}

// stepNames finds names for steps: the name of a step, and a number for each other
// step that has the same name.
type stepNames struct {
	named map[string]string // names by the JSON of a step
	count map[string]int    // different steps by the name that they had in the plan
	steps map[string]json.RawMessage
	texts ScriptTexts
	text  bytes.Buffer // JSON of the present step
	to    *json.Encoder
	err   error // first error
}

func newStepNames() *stepNames {
	n := &stepNames{named: map[string]string{}, count: map[string]int{}, steps: map[string]json.RawMessage{}, texts: ScriptTexts{}}
	n.to = json.NewEncoder(&n.text)
	n.to.SetEscapeHTML(false)
	return n
}

// nameSteps returns the names of the steps of a host, "" for steps around all hosts.
func (n *stepNames) nameSteps(host string, steps []Step) []string {
	names := make([]string, len(steps))
	for i, s := range steps {
		names[i] = n.nameStep(s.replaceHost(host, ""))
	}
	return names
}

func (n *stepNames) nameStep(s Step) string {
	n.text.Reset()
	if err := n.to.Encode(s); err != nil {
		n.err = err
		return ""
	}
	name, ok := n.named[string(n.text.Bytes())]
	if ok {
		return name
	}
	for name == "" || n.steps[name] != nil {
		n.count[s.Name]++
		name = s.Name
		if number := n.count[s.Name]; number > 1 {
			name += " " + strconv.Itoa(number)
		}
	}
	text := n.text.String()
	n.named[text], n.steps[name] = name, json.RawMessage(text)
	n.texts.addTexts(s)
	return name
}

// replaceHost returns the step with another host if it is on this one, and its undo, too.
func (s Step) replaceHost(host, other string) Step {
	if s.On == host {
		s.On = other
	}
	if s.Undo != nil {
		undo := s.Undo.replaceHost(host, other)
		s.Undo = &undo
	}
	return s
}
