package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"holdfast/engine/resource"
)

// planForm is the JSON form of a plan. Most steps are the same on many hosts, but for
// the host and its boot. So it has each step once, without these, and lists of steps
// have their names. The names of steps that are not the same differ.
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
	form := planForm[json.RawMessage]{planFields: planFields(p), Start: names.nameSteps(place{}, p.Start), Before: names.nameSteps(place{}, p.Before)}
	form.Hosts, form.Batches = slices.Grow(form.Hosts, len(p.Hosts)), slices.Grow(form.Batches, len(p.Batches))
	for _, hp := range p.Hosts {
		form.Hosts = append(form.Hosts, hostForm{
			HostPlan: hp,
			Stage:    names.nameSteps(hp.place(), hp.Stage), Sequence: names.nameSteps(hp.place(), hp.Sequence), Rollback: names.nameSteps(hp.place(), hp.Rollback),
		})
	}
	for _, b := range p.Batches {
		form.Batches = append(form.Batches, batchForm{Batch: b, Before: names.nameSteps(place{}, b.Before), After: names.nameSteps(place{}, b.After)})
	}
	form.Steps, form.Texts = names.steps, names.texts
	if names.err != nil {
		return nil, names.err
	}
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false) // json.Marshal escapes the result
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
	if err := form.Texts.putTexts(form.Steps); err != nil {
		return err
	}
	read := newStepsByName(form.Steps)
	*p = Plan(form.planFields)
	p.Start, p.Before = read.findSteps(place{}, form.Start), read.findSteps(place{}, form.Before)
	p.Hosts, p.Batches = slices.Grow(p.Hosts, len(form.Hosts)), slices.Grow(p.Batches, len(form.Batches))
	for _, h := range form.Hosts {
		hp := h.HostPlan
		hp.Stage, hp.Sequence, hp.Rollback = read.findSteps(hp.place(), h.Stage), read.findSteps(hp.place(), h.Sequence), read.findSteps(hp.place(), h.Rollback)
		p.Hosts = append(p.Hosts, hp)
	}
	for _, b := range form.Batches {
		b.Batch.Before, b.Batch.After = read.findSteps(place{}, b.Before), read.findSteps(place{}, b.After)
		p.Batches = append(p.Batches, b.Batch)
	}
	return read.err
}

// stepsByName has the steps of a plan that is read.
type stepsByName struct {
	steps map[string]Step
	moved map[string]int // parts of scripts that are copied for each host, by the names of the steps in which the boot of the host is missing
	parts int            // parts that were copied
	err   error          // first error
}

// maxCopiedParts bounds the memory for the scripts of a plan: a few long scripts in a
// short file could be copied for many hosts. A host needs about 20.
const maxCopiedParts = 5_000_000

func newStepsByName(steps map[string]Step) *stepsByName {
	r := &stepsByName{steps: steps, moved: map[string]int{}}
	for name, s := range steps {
		if s.Undo != nil && s.Undo.Undo != nil {
			r.err = fmt.Errorf("step %q has an undo that has an undo; plan again", name) // each host gets copies of all of them
		}
		if parts, ok := s.countMoved(PlannedBoot); ok {
			r.moved[name] = parts
		}
	}
	return r
}

// countMoved reports whether a step or its undo has this boot, and returns the number of parts of
// their scripts with it.
func (s Step) countMoved(boot resource.BootID) (parts int, found bool) {
	if x := s.Do.Exec; x != nil && x.Script.hasBoot(boot) {
		parts, found = len(x.Script), true
	}
	found = found || s.Do.AwaitBoot != nil && s.Do.AwaitBoot.BootID == boot || s.Do.Release != nil && s.Do.Release.BootID == boot
	if s.Undo != nil {
		more, also := s.Undo.countMoved(boot)
		return parts + more, found || also
	}
	return parts, found
}

// findSteps returns the steps with these names, at a place.
func (r *stepsByName) findSteps(at place, names []string) []Step {
	if names == nil || r.err != nil {
		return nil
	}
	found := make([]Step, len(names))
	for i, name := range names {
		s, ok := r.steps[name]
		if !ok {
			r.err = fmt.Errorf("a host has step %q, which the plan does not have; plan again", name)
			return nil
		}
		from := place{}
		if parts, ok := r.moved[name]; ok {
			from, r.parts = anyPlace, r.parts+parts
		}
		if r.parts > maxCopiedParts {
			r.err = errors.New("the scripts of its hosts are longer than any that holdfast plans; plan again")
			return nil
		}
		found[i] = s.move(from, at)
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

// nameSteps returns the names of the steps at a place.
func (n *stepNames) nameSteps(at place, steps []Step) []string {
	names := make([]string, len(steps))
	for i, s := range steps {
		names[i] = n.nameStep(s.move(at, anyPlace))
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

// place is the host of a list of steps, and its boot. It is empty for steps around all hosts.
type place struct {
	host string
	boot resource.BootID
}

// anyPlace stands for the place of the list that has a step.
var anyPlace = place{boot: PlannedBoot}

// PlannedBoot stands for the boot of a host in the JSON of its steps.
const PlannedBoot resource.BootID = "planned"

func (hp HostPlan) place() place { return place{hp.Host, hp.BootID} }

// move returns the step with another place instead of from, where it has from. It
// changes nothing that s points to.
func (s Step) move(from, to place) Step {
	if s.On == from.host {
		s.On = to.host
	}
	if s.Undo != nil {
		undo := s.Undo.move(from, to)
		s.Undo = &undo
	}
	if from.boot == "" || to.boot == "" {
		return s
	}
	if x := s.Do.Exec; x != nil && x.Script.hasBoot(from.boot) {
		moved := *x
		moved.Script = x.Script.moveBoot(from.boot, to.boot)
		s.Do.Exec = &moved
	}
	if x := s.Do.AwaitBoot; x != nil && x.BootID == from.boot {
		moved := *x
		moved.BootID = to.boot
		s.Do.AwaitBoot = &moved
	}
	if x := s.Do.Release; x != nil && x.BootID == from.boot {
		moved := *x
		moved.BootID = to.boot
		s.Do.Release = &moved
	}
	return s
}

func (s Script) hasBoot(boot resource.BootID) bool {
	return slices.ContainsFunc(s, func(p ScriptPart) bool { return p.Boot == boot })
}

// moveBoot returns a copy of the script with another boot instead of from.
func (s Script) moveBoot(from, to resource.BootID) Script {
	s = slices.Clone(s)
	for i := range s {
		if s[i].Boot == from {
			s[i].Boot = to
		}
	}
	return s
}
