package hostscript_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/standing"
)

// This file has the protocol of holds as a model: one host, two bastions or one with two runs, and a person. Every interleaving of their
// steps is tried, within a bound: kills, pauses, lost answers, expiry, a host that goes off, and a host whose clock jumps. Runs decide
// with engine/standing, as they do elsewhere. The scripts are functions here, and TestModelFollowsScripts compares them with sh.

// owner is the run that a hold names. Each slot for runs has two runs: one, and the next one after it was killed or has failed.
type owner int8

// The owners of holds.
const (
	nobody owner = iota
	ann1
	ann2
	bob1
	bob2
	person
)

func (o owner) String() string {
	return [...]string{"nobody", "run-ann-1", "run-ann-2", "run-bob-1", "run-bob-2", "maint-1"}[o]
}

func runOf(slot int, life int8) owner { return ann1 + owner(slot)*2 + owner(life) }

const never int8 = -1 // as the end of a hold

// modelHold is a hold file. Its times are those of the host.
type modelHold struct {
	owner   owner
	renewed int8
	expires int8
	failed  bool // a run has written its failure into it
}

// phase is how far a run is with the host.
type phase int8

// The phases of a run. It looks again after each refusal.
const (
	looking phase = iota
	taking        // it has decided to take the hold
	holding
	checked // its script has checked the hold, and waits for the lock
	acting  // its script has the lock
)

type modelRun struct {
	life    int8
	phase   phase
	adopt   owner // whose hold it decided to adopt
	renewed int8  // renewal of that hold
}

// modelState is the state of everybody at one moment.
type modelState struct {
	now, jump int8 // true time, and how far the clock of the host is ahead
	jumped    bool
	off       bool
	offs      int8 // how often the host went off
	file      modelHold
	lock      owner // whose script has the lock and acts
	runs      [2]modelRun
	seen      modelHold // the hold that the person read, to end it
	reads     bool

	rightful owner // who may act on the host: the law, which no step reads
	until    int8  // when that ends, in true time
}

// lacking has the rules that a mutation takes out of the protocol.
type lacking struct {
	exclusive   bool // a script takes the hold of a host that somebody else holds
	renewal     bool // a script adopts a hold that was renewed after the run had looked
	kindOnHost  bool // a script adopts the hold of a person
	kindOfRun   bool // a run adopts the expired hold of a person
	laterClock  bool // a hold lasts from the time of the host, also if that is behind
	bothClocks  bool // the clock of the host alone tells that a hold has expired
	expiry      bool // a run adopts a hold before it has expired
	bastion     bool // a run adopts the hold of a dead run in its journals, also if the hold names another bastion
	secondCheck bool // a script does not check the hold again once it has the lock
	lock        bool // nobody waits for the lock
	ownRelease  bool // a run releases any hold
	ownFailure  bool // a run writes its failure into any hold
	digest      bool // a person ends any hold, not only the one that was read
	persistence bool // a hold is gone once the host was off
}

// model is a bound and a set of rules.
type model struct {
	lacking
	ticks       int8 // the end of time
	lasts       int8 // of the hold of a run
	oneBastion  bool // both runs have one bastion; else the second has a copy of the journals of the first
	personLasts int8 // of the hold of the person
	behind      bool // the clock of the host is behind at first, and is set right later; else it is right, and jumps ahead
}

// step is one step of somebody.
type step struct {
	who  owner // nobody: the host or time
	what string
}

func (s step) String() string {
	if s.who == nobody {
		return s.what
	}
	return s.who.String() + " " + s.what
}

// script is one run of a script about the hold, for the comparison with sh.
type script struct {
	name    string
	before  modelHold
	owner   owner
	adopt   owner
	renewed int8
	lasts   int8
	seen    modelHold
	clock   int8
	sent    int8 // time of the bastion
	fits    bool
	after   modelHold
}

func (m model) bastionOf(o owner) string {
	if o == ann1 || o == ann2 || m.oneBastion || o == person {
		return "b1"
	}
	return "b2"
}

var modelEpoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func tickTime(tick int8) time.Time { return modelEpoch.Add(time.Duration(tick) * 10 * time.Minute) }

// makeHold returns the hold as the product has it.
func (m model) makeHold(h modelHold) *engine.Hold {
	if h.owner == nobody {
		return nil
	}
	x := &engine.Hold{Kind: engine.RunHold, Holder: "somebody@" + m.bastionOf(h.owner), Run: h.owner.String(), Bastion: m.bastionOf(h.owner), Reason: "os", Renewed: tickTime(h.renewed)}
	if h.owner == person {
		x.Kind = engine.MaintenanceHold
	}
	if h.expires != never {
		x.Expires = tickTime(h.expires)
	}
	if h.failed {
		x.Step = "reboot"
	}
	return x
}

// judgeHold returns the standing of the host from the view of a run, by the product's own decision.
func (m model) judgeHold(s modelState, slot int) standing.Standing {
	self := runOf(slot, s.runs[slot].life)
	f := engine.Facts{Host: "h", Clock: tickTime(s.now + s.jump), GatheredAt: tickTime(s.now), Hold: m.makeHold(s.file)}
	if s.off {
		f.Unreachable = "no route to host"
	}
	v := standing.View{Run: engine.HoldOwner{Run: self.String(), Bastion: m.bastionOf(self)}}
	for other := range s.runs {
		for life := range s.runs[other].life {
			v.Dead = append(v.Dead, runOf(other, life).String())
		}
	}
	if !m.oneBastion && slot == 1 { // its journals are a copy, in which a run that lives seems dead
		v.Dead = append(v.Dead, ann1.String(), ann2.String())
	}
	if h := f.Hold; h != nil {
		switch {
		case m.kindOfRun:
			h.Kind = engine.RunHold
		case m.bastion:
			h.Bastion = v.Run.Bastion
		case m.expiry && !h.Expires.IsZero():
			h.Expires = modelEpoch.Add(-time.Hour)
		case m.bothClocks:
			f.GatheredAt = time.Time{}
		}
	}
	return v.JudgeFacts(f)
}

// takeHold is the script that takes a hold.
func (m model) takeHold(c script) (modelHold, bool) {
	old := c.before
	isAdopted := c.adopt != nobody && old.owner == c.adopt && (old.owner != person || m.kindOnHost) && (c.renewed == old.renewed || m.renewal)
	if old.owner != nobody && old.owner != c.owner && !isAdopted && !m.exclusive {
		return old, false
	}
	h := modelHold{owner: c.owner, renewed: c.clock, expires: never}
	if c.lasts != never {
		h.expires = max(c.clock, c.sent) + c.lasts
		if m.laterClock {
			h.expires = c.clock + c.lasts
		}
	}
	return h, true
}

// releaseHold, failHold and endHold are the scripts that release the own hold, write a failure into it, and end a hold that somebody has read.
func (m model) releaseHold(c script) (modelHold, bool) {
	if c.before.owner != nobody && c.before.owner != c.owner && !m.ownRelease {
		return c.before, false
	}
	return modelHold{}, true
}

func (m model) failHold(c script) (modelHold, bool) {
	if c.before.owner == nobody || c.before.owner != c.owner && !m.ownFailure {
		return c.before, false
	}
	h := c.before
	h.failed, h.expires, h.renewed = true, never, c.clock
	return h, true
}

func (m model) endHold(c script) (modelHold, bool) {
	if c.before.owner != nobody && c.before != c.seen && !m.digest {
		return c.before, false
	}
	return modelHold{}, true
}

// search is a search through all states.
type search struct {
	model
	from    map[modelState]modelState // the state before each state
	by      map[modelState]step
	queue   []modelState
	scripts map[script]bool
	broken  string // the first violation, with the steps to it
}

func (m model) searchStates() *search {
	x := &search{model: m, from: map[modelState]modelState{}, by: map[modelState]step{}, scripts: map[script]bool{}}
	start := modelState{until: never}
	if m.behind {
		start.jump = -3
	}
	x.from[start] = start
	x.queue = []modelState{start}
	for len(x.queue) > 0 && x.broken == "" {
		s := x.queue[0]
		x.queue = x.queue[1:]
		x.stepHost(s)
		x.stepPerson(s)
		for slot := range s.runs {
			x.stepRun(s, slot)
		}
	}
	return x
}

// addState adds a state that follows from another one, and reports a violation.
func (x *search) addState(s, next modelState, by step, violation string) {
	if x.broken != "" {
		return
	}
	if _, known := x.from[next]; !known {
		x.from[next], x.by[next] = s, by
		x.queue = append(x.queue, next)
	}
	if violation != "" {
		x.broken = violation + ":\n" + strings.Join(append(x.stepsTo(s), by.String()), "\n")
	}
}

func (x *search) stepsTo(s modelState) (list []string) {
	for s != x.from[s] {
		list = append(list, x.by[s].String())
		s = x.from[s]
	}
	slices.Reverse(list)
	return list
}

// applyScript runs a script about the hold. fits is false if the script refuses, and waits is true if it has to wait for the lock.
func (x *search) applyScript(s *modelState, c script, run func(script) (modelHold, bool)) (fits, waits bool) {
	if s.off || s.lock != nobody && !x.lock {
		return false, true
	}
	c.before, c.clock, c.sent = s.file, s.now+s.jump, s.now
	c.after, c.fits = run(c)
	s.file = c.after
	x.scripts[c] = true
	return c.fits, false
}

// stepHost lets time pass, scripts end, and the host go off and come back.
func (x *search) stepHost(s modelState) {
	if next := s; s.now < x.ticks {
		next.now++
		x.addState(s, next, step{nobody, "time passes"}, "")
	}
	if next := s; !s.jumped {
		next.jump, next.jumped = s.jump+3, true
		x.addState(s, next, step{nobody, "the clock of the host jumps"}, "")
	}
	if next := s; s.lock != nobody {
		next.endScript()
		x.addState(s, next, step{s.lock, "has acted"}, "")
	}
	switch next := s; {
	case s.off:
		next.off = false
		x.addState(s, next, step{nobody, "the host comes back"}, "")
	case s.offs == 0:
		next.endScript()
		next.off, next.offs = true, 1
		if x.persistence {
			next.file = modelHold{}
		}
		x.addState(s, next, step{nobody, "the host goes off"}, "")
	}
}

func (s *modelState) endScript() {
	for slot := range s.runs {
		if r := &s.runs[slot]; r.phase == acting && runOf(slot, r.life) == s.lock {
			r.phase = holding
		}
	}
	s.lock = nobody
}

// stepPerson lets a person take, extend and release a host, and end holds of runs by force.
func (x *search) stepPerson(s modelState) {
	take := script{name: "take", owner: person, lasts: x.personLasts}
	if next := s; x.judgeTaking(&next, take) == "" && next != s {
		x.addState(s, next, step{person, "takes or extends its hold"}, "")
	} else if violation := x.judgeTaking(&next, take); violation != "" {
		x.addState(s, next, step{person, "takes the hold"}, violation)
	}
	if next := s; !s.off && s.file.owner != nobody && !s.reads {
		next.seen, next.reads = s.file, true
		x.addState(s, next, step{person, "reads the hold of " + s.file.owner.String() + ", to end it"}, "")
	}
	if next := s; s.reads {
		fits, waits := x.applyScript(&next, script{name: "end", seen: s.seen}, x.endHold)
		if waits {
			return
		}
		next.seen, next.reads = modelHold{}, false
		violation := ""
		if fits && s.file.owner != nobody {
			switch {
			case s.file != s.seen:
				violation = "a person ends a hold that nobody has read"
			case s.lock != nobody:
				violation = "a hold ends while a script acts under it"
			}
			next.rightful, next.until = nobody, never
		}
		x.addState(s, next, step{person, "ends the hold that it has read"}, violation)
	}
}

// judgeTaking carries out a script that takes a hold, and returns the violation of the law.
func (x *search) judgeTaking(s *modelState, c script) string {
	before := *s
	fits, waits := x.applyScript(s, c, x.takeHold)
	if waits || !fits {
		return ""
	}
	s.rightful, s.until = c.owner, never
	if c.lasts != never {
		s.until = s.now + c.lasts
	}
	was := before.rightful
	switch {
	case before.lock != nobody && before.lock != c.owner:
		return fmt.Sprintf("%s takes the hold while a script of %s acts", c.owner, before.lock)
	case was == nobody || was == c.owner:
	case was == person:
		return fmt.Sprintf("%s takes the hold of a person", c.owner)
	case before.until != never && before.now >= before.until: // the clocks of hosts and bastions may differ by two minutes
	case !before.isDead(was) || x.bastionOf(was) != x.bastionOf(c.owner):
		return fmt.Sprintf("%s takes the hold of %s, which lives or may live", c.owner, was)
	}
	return ""
}

// isDead reports whether a run has ended.
func (s modelState) isDead(o owner) bool {
	for slot := range s.runs {
		for life := range s.runs[slot].life {
			if runOf(slot, life) == o {
				return true
			}
		}
	}
	return false
}

// stepRun lets a run of a slot do its next step, or be killed.
func (x *search) stepRun(s modelState, slot int) {
	r := s.runs[slot]
	self := runOf(slot, r.life)
	if r.life == 0 {
		next := s
		next.runs[slot] = modelRun{life: 1}
		x.addState(s, next, step{self, "is killed"}, "")
	}
	to := func(next modelState, p phase, what, violation string) {
		next.runs[slot].phase = p
		if p != taking {
			next.runs[slot].adopt, next.runs[slot].renewed = nobody, 0
		}
		x.addState(s, next, step{self, what}, violation)
	}
	switch r.phase {
	case looking:
		x.lookAtHost(s, slot, to)
	case taking:
		next := s
		violation := x.judgeTaking(&next, script{name: "take", owner: self, adopt: r.adopt, renewed: r.renewed, lasts: x.lasts})
		switch {
		case next.file.owner == self:
			to(next, holding, "takes the hold", violation)
			to(next, taking, "takes the hold, and its answer is lost", "")
		case !s.off && s.lock == nobody:
			to(next, looking, "is refused", "")
		}
	case holding:
		x.useHold(s, slot, to)
	case checked:
		next := s
		switch isOwn := s.file.owner == self; {
		case s.off:
			to(next, holding, "loses its connection", "")
		case s.lock != nobody && !x.model.lock:
		case !isOwn && !x.secondCheck:
			to(next, looking, "is refused under the lock", "")
		default:
			violation := ""
			if s.rightful != self {
				violation = fmt.Sprintf("%s acts on the host of %s", self, s.rightful)
			}
			next.lock = self
			to(next, acting, "acts", violation)
		}
	case acting: // the host ends the script
	}
}

// lookAtHost lets a run decide by the facts of the host.
func (x *search) lookAtHost(s modelState, slot int, to func(modelState, phase, string, string)) {
	if s.off {
		return
	}
	st := x.judgeHold(s, slot)
	next := s
	r := &next.runs[slot]
	switch {
	case st.MayAdopt():
		r.adopt, r.renewed = s.file.owner, s.file.renewed
		to(next, taking, "sees that it may adopt the hold of "+st.AdoptedRun(), "")
	case st.Exclusion() == "" && st.Kind == standing.Free:
		to(next, taking, "sees a host that nobody holds", "")
	}
}

// useHold lets a run that has taken the hold begin to act, renew it, fail or release it.
func (x *search) useHold(s modelState, slot int, to func(modelState, phase, string, string)) {
	self := runOf(slot, s.runs[slot].life)
	if next := s; !s.off && s.file.owner == self {
		to(next, checked, "checks its hold", "")
	} else if !s.off {
		to(next, looking, "finds that its hold is gone", "")
	}
	if next := s; s.file.owner == self { // a later plan of the run takes up its own hold
		if violation := x.judgeTaking(&next, script{name: "take", owner: self, adopt: self, renewed: s.file.renewed, lasts: x.lasts}); next != s {
			to(next, holding, "renews its hold", violation)
		}
	}
	released := s
	if fits, waits := x.applyScript(&released, script{name: "release", owner: self}, x.releaseHold); !waits {
		x.judgeRelease(s, released, fits, self, "releases the host", func(n modelState, violation string) { to(n, looking, "releases the host", violation) })
	}
	if next := s; s.runs[slot].life == 0 {
		if fits, waits := x.applyScript(&next, script{name: "fail", owner: self}, x.failHold); !waits && fits {
			violation := ""
			if s.rightful != self {
				violation = fmt.Sprintf("%s writes its failure into the hold of %s", self, s.rightful)
			}
			next.until = never
			next.runs[slot] = modelRun{life: 1}
			x.addState(s, next, step{self, "fails, and ends"}, violation)
		}
	}
}

// judgeRelease adds the state after a release, with its violation.
func (x *search) judgeRelease(s, next modelState, fits bool, self owner, what string, reach func(modelState, string)) {
	if !fits {
		reach(next, "")
		return
	}
	violation := ""
	if s.file.owner != nobody {
		switch {
		case s.rightful != self:
			violation = fmt.Sprintf("%s %s of %s", self, what, s.rightful)
		case s.lock != nobody && s.lock != self:
			violation = "a hold ends while a script acts under it"
		}
		next.rightful, next.until = nobody, never
	}
	reach(next, violation)
}
