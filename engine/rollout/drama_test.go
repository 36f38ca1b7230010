package rollout_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/hosttest"
)

// drama is one run with its troubles.
type drama struct {
	site     *hosttest.Site
	run      *hosttest.Bastion
	troubles []trouble
	before   map[string]hosttest.State
	holds    map[string]*engine.Hold

	killed, stopped, atOnce, unjournaled bool
	events                               int
	soft, hard                           context.Context
	stopSoft, stopHard                   context.CancelFunc
	end                                  engine.RunEnd
	fired                                []trouble
}

func newDrama(site *hosttest.Site, id string, troubles []trouble) *drama {
	d := &drama{site: site, run: site.Bastion(id), troubles: troubles, before: map[string]hosttest.State{}, holds: map[string]*engine.Hold{}}
	for _, h := range site.Hosts() {
		d.before[h.Name], d.holds[h.Name] = h.State(), h.Hold()
	}
	d.hard, d.stopHard = context.WithTimeout(context.Background(), endless)
	d.soft, d.stopSoft = context.WithCancel(d.hard)
	d.run.Watch = d.watch
	d.run.Fault = d.fault
	d.run.Journal = func(engine.Event) error {
		if d.unjournaled {
			return errors.New("write journal: no space left on device")
		}
		return nil
	}
	return d
}

func (d *drama) play(p *past) {
	r := d.run.Run()
	r.Forks, r.Interval, r.Soft = 1, 5*time.Second, d.soft
	p.inherited(r)
	d.end = d.run.Apply(d.hard, r)
	d.stopSoft()
	d.stopHard()
}

// watch lets come over hosts and the run what is due.
func (d *drama) watch(e engine.Event) {
	if e.Type == engine.EtcdSampled {
		return
	}
	d.events++
	for _, t := range d.troubles {
		if t.at != d.events {
			continue
		}
		d.fired = append(d.fired, t)
		switch t.kind {
		case "killed":
			d.killed = true
			d.run.Kill()
		case "Ctrl-C":
			d.stopped = true
			d.stopSoft()
		case "Ctrl-C twice":
			d.stopped, d.atOnce = true, true
			d.stopHard()
		case "journal full":
			d.unjournaled = true
		}
		if do := happens()[t.kind]; do != nil {
			do(d.site, d.site.Host(t.host))
		}
	}
}

func (d *drama) fault(c hosttest.Call) hosttest.Fault {
	for _, t := range d.troubles {
		if f := faults()[t.kind]; t.at == c.N && f != hosttest.NoFault && c.Verb != "sample" {
			d.fired = append(d.fired, t)
			d.killed = d.killed || strings.HasPrefix(t.kind, "killed")
			return f
		}
	}
	return hosttest.NoFault
}

// verify holds how the run ended against the hosts.
func (d *drama) verify() error {
	if d.killed {
		return nil // it could not say anything; the laws say the rest
	}
	errs := []error{d.verifyExit()}
	for _, h := range d.site.Hosts() {
		errs = append(errs, d.verifyHost(h))
	}
	return errors.Join(errs...)
}

func (d *drama) verifyExit() error {
	if d.end.Reason == "" {
		return errors.New("it does not say why it ended")
	}
	fits := true
	switch d.end.Exit {
	case engine.ExitOK:
		for _, h := range d.site.Hosts() {
			late := h.State().Disk == "mine" && d.edited(h.Name) // perhaps after the last look
			fits = fits && (h.State().Matches || late) && !d.holdsIt(h) && !h.State().Drained
		}
	case engine.ExitWork:
		fits = false
		for _, h := range d.site.Hosts() {
			fits = fits || reported(d.site, h)
		}
	case engine.ExitRefused:
		fits = strings.Contains(d.end.Reason, "held")
	case engine.ExitUnreachable:
		fits = strings.Contains(d.end.Reason, "unreachable")
	case engine.ExitStopped:
		fits = d.stopped
	case engine.ExitFailed:
		fits = len(d.fired) > 0 || len(d.holds) > 0
	default:
		fits = false
	}
	if !fits {
		return fmt.Errorf("exit %d does not fit: %s", d.end.Exit, d.end.Reason)
	}
	return nil
}

func (d *drama) edited(host string) bool {
	return slices.ContainsFunc(d.fired, func(t trouble) bool { return t.kind == "edit" && t.host == host })
}

func (d *drama) holdsIt(h *hosttest.Host) bool {
	hold := h.Hold()
	return hold != nil && hold.Run == d.run.ID
}

// toldOf is what the run's journal says about a host.
func (d *drama) toldOf(host string) (held, done bool, failed *engine.Event) {
	for _, e := range d.run.Events() {
		switch {
		case e.Host != host:
		case e.Type == engine.StepStarted && e.Step == "hold":
			held = true
		case e.Type == engine.HostDone:
			done = true
		case e.Type == engine.HostFailed:
			failed = &e
		}
	}
	return held, done, failed
}

func (d *drama) verifyHost(h *hosttest.Host) error {
	st, hold := h.State(), h.Hold()
	tookHold, done, failed := d.toldOf(h.Name)
	ours := d.holdsIt(h)
	was := d.before[h.Name]
	switch {
	case len(st.Reboots) > len(was.Reboots)+1:
		return fmt.Errorf("%s was rebooted twice", h.Name)
	case st.Drained && hold == nil:
		return fmt.Errorf("%s is drained and nobody's", h.Name)
	case !tookHold && (ours || st.Drained != was.Drained || len(st.Reboots) != len(was.Reboots)):
		return fmt.Errorf("%s was not to be touched: %+v, before %+v, %v", h.Name, st, was, hold)
	case done && (ours || st.Drained):
		return fmt.Errorf("%s is done, and %v", h.Name, hold)
	case d.unjournaled:
		return nil
	case d.atOnce && ours:
		return nil
	case tookHold && !done && failed == nil:
		return fmt.Errorf("nothing is said about how %s ended", h.Name)
	case ours && failed == nil:
		return fmt.Errorf("%s is %s, and nothing says why", h.Name, hold)
	}
	if failed == nil {
		return nil
	}
	return d.verifyFailed(h, *failed)
}

// verifyFailed holds what was said about a host that failed against it.
func (d *drama) verifyFailed(h *hosttest.Host, e engine.Event) error {
	hold := h.Hold()
	fits := true
	switch {
	case strings.HasPrefix(e.Message, "it stays held, with the reason"):
		fits = d.holdsIt(h) && hold.Reason == e.Failure.Cause && hold.Step == e.Failure.Step && hold.Expires.IsZero()
	case strings.Contains(e.Message, "is not held"):
		fits = !d.holdsIt(h)
	case strings.HasPrefix(e.Message, "it was left as it is, held by run"):
		fits = hold != nil && !d.holdsIt(h)
	case strings.HasPrefix(e.Message, "its hold is gone"):
		fits = !d.holdsIt(h)
	}
	if !fits {
		return fmt.Errorf("%s is %v, and said to have failed with %q: %s", h.Name, hold, e.Failure, e.Message)
	}
	return nil
}
