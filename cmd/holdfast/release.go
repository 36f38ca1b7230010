package main

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/engine"
	"holdfast/engine/bastion"
	"holdfast/engine/connection"
	"holdfast/engine/hostscript"
	"holdfast/engine/rollout"
	"holdfast/engine/textutil"
)

// hostHold is the hold that was read from a host.
type hostHold struct {
	host    engine.Host
	err     error        // the reason why the host cannot be reached
	hold    *engine.Hold // nil: there is no hold, or it cannot be read
	problem string       // the reason why the hold cannot be read
	text    string       // content of the hold file
}

// facts returns the facts of the host, as far as the hold tells them.
func (h hostHold) facts() engine.Facts {
	f := engine.Facts{Host: h.host.Name, Hold: h.hold, HoldProblem: h.problem}
	if h.err != nil {
		f.Unreachable = h.err.Error()
	}
	return f
}

// readHolds reads the holds of hosts, in the order of the hosts.
func (s *site) readHolds(ctx context.Context, hosts []engine.Host) []hostHold {
	byHost := map[string]hostHold{}
	probe := func(engine.Host) rollout.Script {
		return rollout.Script{Text: hostscript.HoldProbeScript(), Timeout: time.Minute}
	}
	s.hosts.RunScripts(ctx, hosts, probe, func(x connection.Answer) {
		h := hostHold{host: x.Host, err: x.Err, text: x.Reply.Stdout}
		if x.Err == nil {
			h.hold, h.problem = hostscript.ReadHold(x.Reply)
		}
		byHost[x.Host.Name] = h
	})
	list := make([]hostHold, len(hosts))
	for i, h := range hosts {
		list[i] = byHost[h.Name]
	}
	return list
}

// isMine reports whether a hold is a maintenance hold that the same person took
// on this bastion.
func (s *site) isMine(h engine.Hold) bool {
	return h.IsOfPerson(bastion.Holder(), s.run.Start.Bastion)
}

// extendHolds extends holds to a later expiry. It never shortens a hold.
func (a *app) extendHolds(ctx context.Context, names []string, f holdFlags, lasts engine.Duration) error {
	outlastReader()
	s, err := a.openSite(ctx, names)
	if err != nil {
		return err
	}
	defer s.close()
	r := hostReport{app: a}
	tell := func(worse engine.ExitCode, host, text string) { r.addHost(worse, host, textutil.Printable(text), true) }
	held := map[string]engine.Hold{}
	var longer []string
	for _, h := range s.readHolds(ctx, s.selectedHosts()) {
		name := h.host.Name
		switch {
		case h.err != nil:
			tell(engine.ExitUnreachable, name, "unreachable: "+h.err.Error())
		case h.problem != "":
			tell(engine.ExitRefused, name, h.problem)
		case h.hold == nil:
			tell(engine.ExitRefused, name, "not held, so there is nothing to extend")
		case h.hold.Kind != engine.MaintenanceHold || h.hold.Run == "" || !s.isMine(*h.hold) && !f.force:
			tell(engine.ExitRefused, name, h.hold.String()+"; that is not your hold")
		case h.hold.Expires.IsZero() || h.hold.Expires.After(time.Now().Add(time.Duration(lasts))):
			r.addHost(engine.ExitOK, name, "lasts longer already: "+textutil.Printable(h.hold.String()), false)
		default:
			hold := *h.hold
			hold.Reason, hold.Ticket = cmp.Or(f.reason, hold.Reason), cmp.Or(f.ticket, hold.Ticket)
			held[name], longer = hold, append(longer, name)
		}
	}
	s.selectOnly(longer)
	r.runOnHosts(ctx, s, func(h engine.Host) rollout.Script {
		return rollout.Script{Text: hostscript.HoldScript(held[h.Name], lasts, "", nil), Timeout: time.Minute}
	}, "extended")
	return r.endReport(s)
}

func (a *app) releaseCommand() *cobra.Command {
	var f releaseFlags
	cmd := &cobra.Command{
		Use:   "release HOST…",
		Short: "End maintenance holds",
		Long: `release ends your maintenance holds, and prints their reasons. It ends the holds
of other people or bastions only with --force: ask the holder first. The hold of a
run is ended by that run, or by the next one, which adopts it. --force ends it,
too: use it only if you know that the run is dead, and in which state the host is.
--force also ends a hold that cannot be read, and prints it.

The hold of a run has the state of the units before the disruption. The host keeps
it after --force, and the next run calls the host updated only when its units are
as before. --accept-units forgets it: the units of the host are right as they are.`,
		Args: expectArgs(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.releaseHolds(cmd.Context(), args, f) },
	}
	cmd.Flags().BoolVar(&f.force, "force", false, "end holds of runs, of other people, and holds that cannot be read, too")
	cmd.Flags().BoolVar(&f.acceptUnits, "accept-units", false, "accept the units of the hosts as they are now, also on hosts without a hold")
	return cmd
}

type releaseFlags struct{ force, acceptUnits bool }

func (a *app) releaseHolds(ctx context.Context, names []string, f releaseFlags) error {
	outlastReader()
	s, err := a.openSite(ctx, names)
	if err != nil {
		return err
	}
	defer s.close()
	r := a.judgeHolds(ctx, s, f)
	if err := ctx.Err(); err != nil {
		return err
	}
	s.selectOnly(r.free)
	r.report.runOnHosts(ctx, s, func(engine.Host) rollout.Script {
		return rollout.Script{Text: hostscript.AcceptScript(), Timeout: time.Minute}
	}, "not held; its units are accepted as they are")
	s.selectOnly(r.ofRuns)
	r.report.runOnHosts(ctx, s, r.endHold(false), "released; the next run calls it updated only when its units are as they were before (--accept-units accepts them as they are)")
	s.selectOnly(r.ending)
	r.report.runOnHosts(ctx, s, r.endHold(f.acceptUnits), "released")
	return r.report.endReport(s)
}

// judgedHolds are the holds of hosts to release, sorted by their outcome.
type judgedHolds struct {
	report hostReport
	texts  map[string]string // content of the hold file of each host
	ending []string          // hosts whose hold is ended
	ofRuns []string          // hosts whose hold is ended, but not the state that it names
	free   []string          // hosts without a hold whose units are accepted
}

func (r judgedHolds) endHold(accept bool) func(engine.Host) rollout.Script {
	return func(h engine.Host) rollout.Script {
		return rollout.Script{Text: hostscript.EndHoldScript(r.texts[h.Name], accept), Timeout: time.Minute}
	}
}

func (a *app) judgeHolds(ctx context.Context, s *site, f releaseFlags) judgedHolds {
	r := judgedHolds{report: hostReport{app: a}, texts: map[string]string{}}
	tell := func(worse engine.ExitCode, host, text string) {
		if a.json && worse == engine.ExitOK { // the outcome comes later
			return
		}
		r.report.addHost(worse, host, textutil.Printable(text), true)
	}
	for _, h := range s.readHolds(ctx, s.selectedHosts()) {
		name := h.host.Name
		r.texts[name] = h.text
		switch {
		case h.err != nil:
			tell(engine.ExitUnreachable, name, "unreachable: "+h.err.Error())
			continue
		case h.problem != "":
			says := h.problem + "; it says " + strconv.Quote(h.text[:min(len(h.text), 300)])
			if !f.force {
				tell(engine.ExitRefused, name, says+"; --force ends it")
				continue
			}
			tell(engine.ExitOK, name, says)
		case h.hold == nil && f.acceptUnits:
			r.free = append(r.free, name)
			continue
		case h.hold == nil:
			r.report.addHost(engine.ExitOK, name, "not held", false)
			continue
		case h.hold.Kind == engine.RunHold && !f.force:
			tell(engine.ExitRefused, name, h.hold.String()+"; that run, or the next, ends it (--force if you know better)")
			continue
		case h.hold.Kind != engine.RunHold && !s.isMine(*h.hold) && !f.force:
			tell(engine.ExitRefused, name, h.hold.String()+"; that is another person or bastion: ask there, or end it all the same with --force")
			continue
		default:
			if !a.json { // the outcome comes later
				r.report.addHost(engine.ExitOK, name, textutil.Printable(h.hold.String()), false)
			}
		}
		if h.hold != nil && h.hold.Kind == engine.RunHold && h.hold.Failed != nil && !f.acceptUnits {
			r.ofRuns = append(r.ofRuns, name)
			continue
		}
		r.ending = append(r.ending, name)
	}
	return r
}
