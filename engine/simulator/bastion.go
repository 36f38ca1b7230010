package simulator

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"holdfast/engine"
	"holdfast/engine/clock"
	"holdfast/engine/event"
	"holdfast/engine/journal"
	"holdfast/engine/planner"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator/laws"
	"holdfast/engine/wire"
)

// Bastion is the place of one run. It provides hosts, clusters, local commands,
// journal and clock to the run, and can be killed.
type Bastion struct {
	ID       string // ID of the run
	Identity string // identity of the bastion, which several runs may share

	Fault   func(Call) Fault                        // returns the fault of each call; may be nil
	Watch   func(event.Event)                       // called with each journaled event; may be nil
	Journal func(event.Event) error                 // refuses an event with an error; may be nil
	Latency func(Call) time.Duration                // returns how long a call takes in each direction; may be nil
	Disk    func(host string, at time.Time) float64 // p99 of WAL fsync of the member, in seconds; nil: nothing is written
	Command func(Command) *rollout.Reply            // answers a local command; nil: the simulator answers
	Takes   func(Command) time.Duration             // returns how long a local command takes; may be nil
	Answer  func(url string) (int, string)          // answers of web servers; nil: they do not answer
	Asked   *laws.Asked                             // options of the run, for the laws; nil: read from the run
	Knows   *engine.Inventory                       // the inventory of the run; nil: the inventory of the site

	site  *Site
	clock clock.Real

	mu       sync.Mutex
	state    state
	cancel   context.CancelFunc
	calls    []Call
	commands []Command
	events   []event.Event

	connected map[string]int // boots of the hosts in which the bastion has connected to them
	observed  *laws.Run      // guarded by the lock of the site
}

type state int

const (
	idle state = iota
	running
	ended
)

// Command is a command that ran on the bastion.
type Command struct {
	Text string
	Host string // value of HOLDFAST_HOST
	Env  []string
}

// Bastion adds a bastion for a run with that ID.
func (s *Site) Bastion(run string) *Bastion {
	b := &Bastion{ID: run, Identity: "b1", site: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	b.observed = s.laws.NewRun(run, b.isAlive)
	return b
}

// Run returns a run on this bastion, of every host. A test may change the run
// before Apply.
func (b *Bastion) Run() *rollout.Run {
	run := &rollout.Run{
		Options: rollout.Options{
			Start: event.RunStart{Site: b.site.Inventory.Site, Holder: "ann@" + b.ID, Bastion: b.Identity}, ID: b.ID,
			Request: planner.Request{Inventory: b.site.Inventory, Desired: b.site.Desired(), Modules: allModules()},
		},
		Ports: rollout.Ports{Hosts: b, Clusters: b, Local: local{b}, Web: b, Power: power{b}, Sink: b, Clock: b.clock},
	}
	if len(b.site.kubernetes) > 0 {
		run.Nodes = nodes{b}
	}
	return run
}

func (b *Bastion) holdOwner() engine.HoldOwner {
	return engine.HoldOwner{Run: b.ID, Bastion: b.Identity}
}

// Apply carries out the run until it ends or is killed.
func (b *Bastion) Apply(ctx context.Context, r *rollout.Run) event.RunEnd {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b.mu.Lock()
	b.state, b.cancel = running, cancel
	b.mu.Unlock()
	asked := b.Asked
	if asked == nil {
		asked = askedOf(r)
	}
	b.site.withLock(func(time.Time) { b.observed.Begin(asked, r.BestEffort, r.RetryRejected) })
	defer b.Kill()
	return r.Apply(ctx)
}

// Kill ends the run like SIGKILL: after it, nothing reaches a host or the
// journal.
func (b *Bastion) Kill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state = ended
	if b.cancel != nil {
		b.cancel()
	}
}

func (b *Bastion) hasState(s state) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state == s
}

func (b *Bastion) isAlive() bool { return b.hasState(running) }

var errKilled = errors.New("the bastion is dead")

// Emit journals an event.
func (b *Bastion) Emit(e event.Event) error {
	if b.hasState(ended) {
		return errKilled
	}
	if b.Journal != nil {
		if err := b.Journal(e); err != nil {
			return err
		}
	}
	b.mu.Lock()
	b.events = append(b.events, e)
	b.mu.Unlock()
	b.site.withLock(func(time.Time) { b.law().Emit(e) })
	if b.Watch != nil {
		b.Watch(e)
	}
	return nil
}

// Events returns the journaled events.
func (b *Bastion) Events() []event.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.events)
}

// Calls returns the calls of the run to hosts, clusters and the bastion, in order.
func (b *Bastion) Calls() []Call {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.calls)
}

// Commands returns the commands that ran on the bastion, in order.
func (b *Bastion) Commands() []Command {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.commands)
}

// Inherit reads the journals of earlier runs, and sets the holds and hosts that
// a later run of the same bastion takes over.
func Inherit(r *rollout.Run, earlier ...*Bastion) {
	var runs []journal.Run
	for _, b := range earlier {
		runs = append(runs, b.journaledRun())
	}
	slices.SortFunc(runs, func(a, b journal.Run) int { return cmp.Compare(b.ID, a.ID) }) // the newest run comes first
	takeLeftovers(r, journal.SummarizeRuns(runs, r.Inventory.Site, engine.HoldOwner{Run: r.ID, Bastion: r.Start.Bastion}))
}

func takeLeftovers(r *rollout.Run, left journal.EarlierRuns) {
	r.Dead, r.Awaited, r.Lost, r.Retry, r.CompletedOS = left.Dead, left.Rebooting, left.Lost, left.Failed, left.Complete
}

func (b *Bastion) journaledRun() journal.Run {
	var text bytes.Buffer
	for _, e := range b.Events() {
		line, err := wire.MarshalEvent(e)
		if err != nil {
			panic(fmt.Sprintf("simulator: journal of %s: %s", b.ID, err)) // events always marshal
		}
		text.Write(line)
	}
	return journal.ParseRun(b.ID, b.ID, &text)
}
