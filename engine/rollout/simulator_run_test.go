package rollout_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
	"holdfast/engine/simulator/laws"
)

// pollInterval is the time between two probes while a run waits.
const pollInterval = 15 * time.Second

// simulatedRun is one run of an act with its incidents.
type simulatedRun struct {
	site     *simulator.Site
	run      *simulator.Bastion
	troubles []incident
	before   map[string]simulator.State

	best     bool // option --best-effort
	reboots  int  // highest number of reboots of each host
	asked    laws.Asked
	excused  bool // something has gone wrong, or two runs overlap
	sabotage func(*simulator.Site, *rollout.Run)

	stopped, atOnce, unjournaled bool
	soft, hard                   context.Context
	stopSoft, stopHard           context.CancelFunc
	end                          event.RunEnd

	mu       sync.Mutex
	killed   bool
	shut     time.Time     // until when the gates give bad answers
	timers   []*time.Timer // timers of incidents that come later
	fired    []incident
	rebooted map[string]time.Time // when a person last rebooted each host
	events   map[string]int       // number of events about each host
	calls    map[string]int
}

func newSimulatedRun(site *simulator.Site, id string, troubles []incident) *simulatedRun {
	d := &simulatedRun{site: site, run: site.Bastion(id), troubles: troubles, before: map[string]simulator.State{}, events: map[string]int{}, calls: map[string]int{}, rebooted: map[string]time.Time{}}
	for _, h := range site.Hosts() {
		d.before[h.Name] = h.State()
	}
	d.hard, d.stopHard = context.WithTimeout(context.Background(), endless)
	d.soft, d.stopSoft = context.WithCancel(d.hard)
	d.run.Watch = d.watchEvent
	d.run.Fault, d.run.Latency, d.run.Command = d.faultOf, latencyByHost(d.run), d.answerGate
	d.run.Journal = func(event.Event) error {
		if d.unjournaled {
			return errors.New("write journal: no space left on device")
		}
		return nil
	}
	return d
}

func (d *simulatedRun) applyRun(p *earlierRuns) {
	r := d.run.Run()
	r.Forks, r.Interval, r.Soft, r.BestEffort = 1, pollInterval, d.soft, d.best
	p.configureRun(r)
	d.asked.Retry = r.Retry
	r.OverIncomplete, r.FullReboot = d.asked.Over, d.asked.Full
	for _, play := range d.asked.Plays {
		r.Plays = append(r.Plays, simulator.NewPlay(play))
	}
	d.run.Asked = &d.asked
	d.reboots = max(1, len(r.Plays))
	if d.sabotage != nil {
		d.sabotage(d.site, r)
	}
	d.raiseDue("", 0)
	d.end = d.run.Apply(d.hard, r)
	for _, timer := range d.timers {
		timer.Stop()
	}
	d.stopSoft()
	d.stopHard()
}

// watchEvent raises the incidents that are due at an event: incidents of its
// host and of the run.
func (d *simulatedRun) watchEvent(e event.Event) {
	if e.Type == event.EtcdSampled || e.Type == event.Interrupted { // these events come at random positions between the others
		return
	}
	d.events[e.Host]++
	d.raiseDue(e.Host, d.events[e.Host])
}

// raiseDue raises the incidents of that host that are due at that event.
func (d *simulatedRun) raiseDue(on string, at int) {
	for _, t := range d.troubles {
		if t.at != at || t.on != on && at > 0 {
			continue
		}
		if t.late > 0 {
			d.timers = append(d.timers, time.AfterFunc(t.late, func() { d.raiseIncident(t) }))
			continue
		}
		d.raiseIncident(t)
		switch t.kind {
		case "killed":
			d.recordKill()
			d.run.Kill()
		case "Ctrl-C":
			d.stopped = true
			d.stopSoft()
		case "Ctrl-C twice":
			d.stopped, d.atOnce = true, true
			d.stopHard()
		case "journal full":
			d.unjournaled = true
		case "gate shut":
			d.shutGates(endless)
		case "gate late":
			d.shutGates(30 * time.Second)
		}
	}
}

func (d *simulatedRun) raiseIncident(t incident) {
	d.recordFired(t)
	if do := hostIncidents()[t.kind]; do != nil {
		do(d.site, d.site.Host(t.host))
	}
	if do := nodeIncidents()[t.kind]; do != nil {
		do(d.site, t.host)
	}
}

func (d *simulatedRun) recordKill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.killed = true
}

// shutGates lets the gates give bad answers for a while. A heartbeat may call
// it while a step asks a gate.
func (d *simulatedRun) shutGates(while time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut = time.Now().Add(while)
}

func (d *simulatedRun) areGatesShut() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Now().Before(d.shut)
}

func (d *simulatedRun) recordFired(t incident) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fired = append(d.fired, t)
	if t.kind == personReboots {
		d.rebooted[t.host] = time.Now()
	}
}

func (d *simulatedRun) faultOf(c simulator.Call) simulator.Fault {
	if c.Verb == "sample" {
		return simulator.NoFault
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls[c.Host]++
	for _, t := range d.troubles {
		if f := callFaults()[t.kind]; t.on == c.Host && t.at == d.calls[c.Host] && f != simulator.NoFault {
			d.fired = append(d.fired, t)
			d.killed = d.killed || strings.HasPrefix(t.kind, "killed")
			return f
		}
	}
	return simulator.NoFault
}

func (d *simulatedRun) answerGate(c simulator.Command) *rollout.Reply {
	if c.Text == "ready" && d.areGatesShut() {
		return &rollout.Reply{Code: 1, Stderr: "not ready\n"}
	}
	return nil
}

// verifyEnd compares the end of a run with the hosts.
func (d *simulatedRun) verifyEnd() error {
	if d.killed {
		return nil // a killed run reports no end, and the laws check the rest
	}
	errs := []error{d.verifyExit()}
	said := d.accountsOfHosts()
	for _, h := range d.site.Hosts() {
		errs = append(errs, d.verifyHost(h, said[h.Name]))
	}
	return errors.Join(errs...)
}

func (d *simulatedRun) verifyExit() error {
	fits := true
	switch d.end.Exit {
	case engine.ExitOK:
		for _, h := range d.site.Hosts() {
			if host, _ := d.site.Inventory.Host(h.Name); host.Leaving {
				continue
			}
			late := h.State().Disk == "mine" && d.wasEdited(h.Name) || d.wasRebootedLast(h.Name) // that may come after the last facts
			fits = fits && (d.hasDesiredState(h) || late) && !d.isHolder(h) && (!h.State().Drained || len(d.asked.Plays) > 0)
		}
	case engine.ExitWork:
		fits = false
		for _, h := range d.site.Hosts() {
			fits = fits || isReportedDrift(d.site, h)
		}
	case engine.ExitRefused:
		fits = slices.ContainsFunc([]string{"held", "paused", "maintenance", "window", "requires soft reboots", "another holdfast is writing", "cannot be drained", "has the lease of", "NodeMaintenance"}, func(why string) bool { return strings.Contains(findingsText(d.end), why) })
		if len(d.end.Verdict.Unfinished) > 0 {
			fits = !d.asked.Over && d.site.MayRefuse()
		}
	case engine.ExitUnreachable:
		fits = strings.Contains(findingsText(d.end), "unreachable") || strings.Contains(findingsText(d.end), "so nobody knows whether it can be drained")
	case engine.ExitStopped:
		fits = d.stopped
	case engine.ExitFailed:
		fits = d.excused || len(d.site.NodeClusters()) > 0 || slices.ContainsFunc(d.site.Hosts(), func(h *simulator.Host) bool { return d.site.TooFar(h.Name) })
		if len(d.asked.Plays) > 0 { // hosts may wait for a host that their play does not select
			fits = fits || slices.ContainsFunc(d.site.Inventory.Hosts, func(h engine.Host) bool { return h.Maintenance != "" })
		}
	default:
		fits = false
	}
	if !fits {
		return fmt.Errorf("exit %d does not fit: %s", d.end.Exit, findingsText(d.end))
	}
	return nil
}

func (d *simulatedRun) wasEdited(host string) bool {
	return slices.ContainsFunc(d.fired, func(t incident) bool { return t.kind == "edit" && t.host == host })
}

// wasRebootedLast reports whether a person rebooted the host when the run gathered its last facts, or later.
func (d *simulatedRun) wasRebootedLast(host string) bool {
	events, began := d.run.Events(), time.Time{}
	for i, e := range events {
		if e.Type == event.HostsGathered {
			began = events[max(0, i-1)].Time
		}
	}
	at, rebooted := d.rebooted[host]
	return rebooted && !at.Before(began)
}

func (d *simulatedRun) isHolder(h *simulator.Host) bool {
	hold := h.Hold()
	return hold != nil && hold.Run == d.run.ID
}

// hostAccount is the report about a host in the journal of a run.
type hostAccount struct {
	held, done bool
	restarted  bool // its services were restarted into its OS before the rest of its work, which another failure has prevented
	failed     *event.Event
}

func (d *simulatedRun) accountsOfHosts() map[string]hostAccount {
	all := map[string]hostAccount{}
	for _, e := range d.run.Events() {
		t := all[e.Host]
		switch {
		case e.Type == event.StepStarted && e.Step == "hold":
			t = hostAccount{held: true}
		case e.Type == event.HostDone:
			t.done = true
		case e.Type == event.StepEnded && e.Step == "restart survivors":
			t.restarted = e.Failure == nil
		case e.Type == event.HostFailed:
			t.failed = &e
		default:
			continue
		}
		all[e.Host] = t
	}
	return all
}

func (d *simulatedRun) verifyHost(h *simulator.Host, said hostAccount) error {
	st, hold := h.State(), h.Hold()
	ours := d.isHolder(h)
	was := d.before[h.Name]
	switch {
	case len(st.Reboots) > len(was.Reboots)+d.reboots && st.Reboots[len(st.Reboots)-1] != was.Booted: // the last reboot returns to the OS before the run
		return fmt.Errorf("%s was rebooted %d times", h.Name, len(st.Reboots)-len(was.Reboots))
	case st.Drained && hold == nil:
		return fmt.Errorf("%s is drained and nobody's", h.Name)
	case !said.held && (ours || st.Drained != was.Drained || len(st.Reboots) != len(was.Reboots)):
		return fmt.Errorf("%s was not to be touched: %+v, before %+v, %v", h.Name, st, was, hold)
	case said.done && (ours || st.Drained):
		return fmt.Errorf("%s is done, and %v", h.Name, hold)
	case d.unjournaled:
		return nil
	case d.atOnce && ours:
		return nil
	case said.held && !said.done && said.failed == nil && (!said.restarted || hold != nil):
		return fmt.Errorf("nothing is said about how %s ended", h.Name)
	case ours && said.failed == nil:
		return fmt.Errorf("%s is %s, and nothing says why", h.Name, hold)
	}
	if said.failed == nil {
		return nil
	}
	return d.verifyFailed(h, *said.failed)
}

// verifyFailed compares the report about a failed host with the host.
func (d *simulatedRun) verifyFailed(h *simulator.Host, e event.Event) error {
	hold := h.Hold()
	fits := true
	switch {
	case strings.HasPrefix(e.Message, "it stays held, with the reason"):
		fits = d.isHolder(h) && hold.Reason == e.Failure.Cause && hold.Step == e.Failure.Step && hold.Expires.IsZero()
	case strings.Contains(e.Message, "is not held"):
		fits = !d.isHolder(h)
	case strings.HasPrefix(e.Message, "it was left as it is, held by run"):
		fits = hold != nil && !d.isHolder(h)
	case e.Outcome == event.HoldLostOutcome:
		fits = !d.isHolder(h)
	}
	if !fits {
		return fmt.Errorf("%s is %v, and said to have failed with %q: %s", h.Name, hold, e.Failure, e.Message)
	}
	return nil
}
