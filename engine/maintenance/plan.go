package maintenance

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/engine/standing"
	"holdfast/engine/textutil"
)

// Request is the wish of a person.
type Request struct {
	Action  engine.MaintenanceAction
	Hosts   []string // in the order of the plan
	Holder  string   // user@bastion of the person
	Bastion string   // identity of the bastion

	Reason string // of a hold; "": an extended hold keeps its reason
	Ticket string // of a hold; "": an extended hold keeps its ticket
	For    engine.Duration

	Graceful engine.Duration // time for a shutdown before the power is cut

	Drain    bool // drains the hosts once they are held
	PowerOff bool // switches the hosts off once they are held, and drained
	PowerOn  bool // switches the hosts on before their release
	Wait     bool // waits for the runs that hold the hosts

	Runs []ActiveRun // runs of this bastion that are under way

	Force       bool // holds hosts although a quorum would be lost, extends and ends holds of others, too, and ends holds that cannot be read
	AcceptUnits bool // accepts the units of released hosts as they are

	Secrets textutil.Secrets // hidden in everything that hosts see
}

// NeedsSite reports whether the plan depends on the whole site. All other requests depend on the holds of their hosts.
func (r Request) NeedsSite() bool { return r.Action == engine.HoldHosts }

// Observation has everything that was read for a request.
type Observation struct {
	Holds map[string]Observed // of the hosts of the request, by name, if it does not need the site
	Site  Site                // only its inventory, unless the request needs the site
}

// Observed is the hold that was read from a host.
type Observed struct {
	Facts engine.Facts
	Text  string // content of the hold file
}

// timeout of each step. The scripts stop or start reboot helpers.
const timeout = engine.Duration(3 * time.Minute)

// NewPlan plans the request at the time now.
func NewPlan(r Request, seen Observation, now time.Time) engine.MaintenancePlan {
	p := engine.MaintenancePlan{Action: r.Action}
	refusal := ""
	if r.NeedsSite() {
		p.Notices = seen.Site.findNotices(r.Hosts, r.Force)
		if r.Drain {
			p.Notices = append(p.Notices, seen.Site.findDrainObstacles(r.Hosts)...)
		}
		if !r.Force {
			refusal = seen.Site.findRefusal(r.Hosts, r.PowerOff || r.Drain)
		}
	}
	for _, host := range r.Hosts {
		var m engine.HostMaintenance
		switch r.Action {
		case engine.HoldHosts:
			m = r.planHold(refusal, seen.Site, host)
			if i := slices.IndexFunc(m.Steps, func(s engine.Step) bool { return s.Do.StayOff != nil }); i >= 0 && !r.Force {
				m.Steps = slices.Insert(m.Steps, i, seen.Site.planQuorumCheck(host)...)
				m.Remains = cmp.Or(m.Remains, "it stays held: the same command goes on, and holdfast release "+host+" ends the hold")
			}
		case engine.ExtendHolds:
			m = r.planExtension(seen.Holds[host], now)
		case engine.ReleaseHosts:
			m = r.planRelease(seen.Site.targetOf(host), seen.Holds[host])
		case engine.PowerHostsOn, engine.PowerHostsOff, engine.ResetHosts:
			m = r.planPower(host, seen.Holds[host])
		}
		m.Host = host
		completeSteps(m.Steps, host)
		completeSteps(m.Undo, host)
		p.Hosts = append(p.Hosts, m)
	}
	return p
}

func completeSteps(steps []engine.Step, host string) {
	for i := range steps {
		steps[i].On = host
		if steps[i].Timeout == 0 {
			steps[i].Timeout = timeout
		}
		if u := steps[i].Undo; u != nil && steps[i].Do.Budget != nil {
			u.On, u.Timeout = host, timeout
		}
	}
}

// planHold lets the script of the hold refuse a host that is held by somebody else.
func (r Request) planHold(refusal string, s Site, host string) engine.HostMaintenance {
	if m, ok := r.planHeld(s, host); ok {
		if refusal == "" || m.Failure != nil || len(m.Steps) == 0 {
			return m
		}
		refused := leaveAlone(engine.RefusedFailure, "refused: "+refusal+"; nothing was changed. --force overrides this")
		refused.Found = m.Found
		return refused
	}
	if refusal != "" {
		return leaveAlone(engine.RefusedFailure, "refused: "+refusal+"; nothing was held. --force holds the hosts all the same")
	}
	take := engine.TakeHold{Kind: engine.MaintenanceHold, Reason: r.Reason, Ticket: r.Ticket, For: r.For}
	m := engine.HostMaintenance{Steps: []engine.Step{{Name: "hold", Do: engine.Op{TakeHold: &take}}}, Message: "held"}
	if (r.Drain || r.PowerOff) && !r.Force {
		m.Steps = append(m.Steps, s.planBudgetCheck(host))
	}
	if r.Drain {
		if failure := r.planDrainedHold(s, host, &m); failure != nil {
			return engine.HostMaintenance{Failure: failure}
		}
	}
	if r.PowerOff {
		m.Steps = append(m.Steps, r.offSteps(engine.ShutDown{})...)
		m.Message = "held, and off"
		if r.Drain {
			m.Message = "held, drained, and off"
		}
	}
	return m
}

// planExtension never shortens a hold. now is the time of the bastion. The extension counts from the later one of now and the
// host's clock.
func (r Request) planExtension(o Observed, now time.Time) engine.HostMaintenance {
	st := standing.View{}.JudgeFacts(o.Facts)
	if o.Facts.Clock.After(now) {
		now = o.Facts.Clock
	}
	switch {
	case st.Kind == standing.Unreached:
		return leaveAlone(engine.UnreachableFailure, st.Problem)
	case st.Kind == standing.HeldWhenLastSeen:
		return leaveAlone(engine.UnreachableFailure, describeUnreached(st))
	case st.Kind == standing.UnreadablyHeld:
		return leaveAlone(engine.HeldFailure, st.Problem)
	case st.Hold == nil:
		return leaveAlone(engine.HeldFailure, "not held, so there is nothing to extend")
	case st.Kind != standing.HeldByPerson || st.Hold.Run == "" || !r.owns(*st.Hold) && !r.Force:
		return leaveAlone(engine.HeldFailure, st.Hold.String()+"; that is not your hold")
	case st.Hold.Expires.After(now.Add(time.Duration(r.For))):
		return engine.HostMaintenance{Message: "lasts longer already: " + st.Hold.String()}
	}
	lasts, message := r.For, "extended"
	if st.Hold.Expires.IsZero() { // it is written again, so that the host refuses reboots again after a boot
		lasts, message = 0, "has no end, and is renewed"
	}
	h := *o.Facts.Hold
	h.Reason, h.Ticket = cmp.Or(r.Reason, h.Reason), cmp.Or(r.Ticket, h.Ticket)
	return engine.HostMaintenance{
		Steps:   []engine.Step{{Name: "extend hold", Do: engine.Op{ExtendHold: &engine.ExtendHold{Hold: h, For: lasts, Digest: resource.Digest([]byte(o.Text))}}}},
		Message: message,
	}
}

// describeUnreached tells why a host with a hold that was seen before cannot be reached now, and who holds it.
func describeUnreached(st standing.Standing) string {
	if st.Silent {
		return st.Problem + "; " + st.Describe()
	}
	return st.Problem + "; " + st.DescribeLastHold()
}

func (r Request) planRelease(t engine.Target, o Observed) engine.HostMaintenance {
	st := standing.View{}.JudgeFacts(o.Facts)
	switch st.Kind {
	case standing.Unreached:
		return leaveAlone(engine.UnreachableFailure, st.Problem)
	case standing.HeldWhenLastSeen:
		if r.PowerOn && (r.owns(*st.Hold) || r.Force) {
			m := r.endPowered(t, engine.EndHold{Run: st.Hold.Run, Bastion: st.Hold.Bastion, AcceptUnits: r.AcceptUnits}, st.Hold)
			m.Found = st.Describe()
			return m
		}
		advice := "make it reachable first"
		if st.Silent {
			advice = "switch it on first, for example with --power-on"
		}
		return leaveAlone(engine.UnreachableFailure, describeUnreached(st)+"; its hold is on its disk: "+advice)
	case standing.UnreadablyHeld:
		found := st.Problem + "; it says " + strconv.Quote(o.Text[:min(len(o.Text), 300)])
		if !r.Force {
			return leaveAlone(engine.HeldFailure, found+"; --force ends it")
		}
		m := r.endHold(t, o)
		m.Found, m.Unreadable = found, true
		return m
	case standing.Free, standing.Unproven:
		if !r.AcceptUnits {
			return engine.HostMaintenance{Message: "not held"}
		}
		return engine.HostMaintenance{
			Steps:   []engine.Step{{Name: "accept units", Do: engine.Op{AcceptUnits: &engine.AcceptUnits{}}}},
			Message: "not held; its units are accepted as they are",
		}
	case standing.HeldByPerson:
		if !r.owns(*st.Hold) && !r.Force {
			return leaveAlone(engine.HeldFailure, st.Hold.String()+"; that is another person or bastion: ask there, or end it all the same with --force")
		}
	case standing.HeldByRun, standing.HeldByDeadRun, standing.HeldByExpiredRun, standing.HeldByThisRun:
		if !r.Force {
			return leaveAlone(engine.HeldFailure, st.Hold.String()+"; that run, or the next, ends it (--force if you know better)")
		}
	}
	m := r.endHold(t, o)
	m.Found = st.Hold.String()
	return m
}

func (r Request) endHold(t engine.Target, o Observed) engine.HostMaintenance {
	end := engine.EndHold{Digest: resource.Digest([]byte(o.Text)), AcceptUnits: r.AcceptUnits}
	m := r.endPowered(t, end, o.Facts.Hold)
	if h := o.Facts.Hold; h != nil && h.Kind == engine.RunHold && h.FailedUnits != nil && !r.AcceptUnits {
		m.Message = "released; the next run calls it updated only when its units are as they were before (--accept-units accepts them as they are)"
	}
	return m
}

func (r Request) owns(h engine.Hold) bool { return h.IsOfPerson(r.Holder, r.Bastion) }

// ExitOf returns the exit code of a failure. A host that does not answer is no failure of the command.
func ExitOf(f engine.Failure) engine.ExitCode {
	switch f.Kind {
	case engine.UnreachableFailure:
		return engine.ExitUnreachable
	case engine.RefusedFailure:
		return engine.ExitRefused
	default:
		return f.Exit()
	}
}

func leaveAlone(kind engine.FailureKind, cause string) engine.HostMaintenance {
	return engine.HostMaintenance{Failure: &engine.Failure{Kind: kind, Cause: cause}}
}
