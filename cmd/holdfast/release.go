package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/engine"
	"holdfast/engine/bastion"
	"holdfast/engine/hold"
	"holdfast/engine/rollout"
	"holdfast/engine/textutil"
)

// keepHolds returns the keeper of holds for people.
func (s *site) keepHolds() hold.Keeper {
	return hold.Keeper{Run: s.runHoldScript, Owner: s.holdOwner(), Secrets: s.secrets, Forks: s.run.Forks}
}

func (s *site) runHoldScript(ctx context.Context, name string, script hold.Script) (engine.Output, error) {
	h, ok := s.inv.Host(name)
	if !ok {
		return engine.Output{}, fmt.Errorf("no host %q in the inventory", name)
	}
	c, err := s.hosts.Connect(ctx, h)
	if err != nil {
		return engine.Output{}, &engine.Failure{Kind: engine.UnreachableFailure, Cause: "unreachable: " + err.Error()}
	}
	reply, err := c.Run(ctx, rollout.Script{Purpose: rollout.Purpose(script.Purpose), Text: script.Text, Timeout: script.Timeout})
	if err != nil {
		return reply, &engine.Failure{Kind: engine.UnreachableFailure, Cause: err.Error()}
	}
	return reply, nil
}

// isMine reports whether a hold is a maintenance hold that the same person took
// on this bastion.
func (s *site) isMine(h engine.Hold) bool {
	return h.IsOfPerson(bastion.Holder(), s.run.Start.Bastion)
}

// extendHolds extends holds to a later expiry. It never shortens a hold.
func (a *app) extendHolds(ctx context.Context, args []string, f holdFlags, lasts engine.Duration) error {
	outlastReader()
	s, err := a.openSite(ctx, args)
	if err != nil {
		return err
	}
	defer s.close()
	r := hostReport{app: a}
	tell := func(worse engine.ExitCode, host, text string) { r.addHost(worse, host, textutil.Printable(text), true) }
	held := map[string]engine.Hold{}
	var names []string
	for _, h := range s.keepHolds().ReadAll(ctx, s.selectedNames()) {
		name, hold := h.Facts.Host, h.Facts.Hold
		switch {
		case !h.Facts.Reached():
			tell(engine.ExitUnreachable, name, h.Facts.Unreachable)
		case h.Facts.HoldProblem != "":
			tell(engine.ExitRefused, name, h.Facts.HoldProblem)
		case hold == nil:
			tell(engine.ExitRefused, name, "not held, so there is nothing to extend")
		case hold.Kind != engine.MaintenanceHold || hold.Run == "" || !s.isMine(*hold) && !f.force:
			tell(engine.ExitRefused, name, hold.String()+"; that is not your hold")
		case hold.Expires.IsZero() || hold.Expires.After(time.Now().Add(time.Duration(lasts))):
			r.addHost(engine.ExitOK, name, "lasts longer already: "+textutil.Printable(hold.String()), false)
		default:
			longer := *hold
			longer.Reason, longer.Ticket = cmp.Or(f.reason, hold.Reason), cmp.Or(f.ticket, hold.Ticket)
			held[name], names = longer, append(names, name)
		}
	}
	k := s.keepHolds()
	r.runOnHosts(k, names, func(host string) error {
		return k.Take(ctx, host, held[host], engine.TakeHold{For: lasts})
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
	k := s.keepHolds()
	r.report.runOnHosts(k, r.free, func(host string) error { return k.Accept(ctx, host) }, "not held; its units are accepted as they are")
	r.report.runOnHosts(k, r.ofRuns, func(host string) error { return k.End(ctx, host, r.texts[host], false) }, "released; the next run calls it updated only when its units are as they were before (--accept-units accepts them as they are)")
	r.report.runOnHosts(k, r.ending, func(host string) error { return k.End(ctx, host, r.texts[host], f.acceptUnits) }, "released")
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

func (a *app) judgeHolds(ctx context.Context, s *site, f releaseFlags) judgedHolds {
	r := judgedHolds{report: hostReport{app: a}, texts: map[string]string{}}
	tell := func(worse engine.ExitCode, host, text string) {
		if a.json && worse == engine.ExitOK { // the outcome comes later
			return
		}
		r.report.addHost(worse, host, textutil.Printable(text), true)
	}
	for _, h := range s.keepHolds().ReadAll(ctx, s.selectedNames()) {
		name, hold, problem := h.Facts.Host, h.Facts.Hold, h.Facts.HoldProblem
		r.texts[name] = h.Text
		switch {
		case !h.Facts.Reached():
			tell(engine.ExitUnreachable, name, h.Facts.Unreachable)
			continue
		case problem != "":
			says := problem + "; it says " + strconv.Quote(h.Text[:min(len(h.Text), 300)])
			if !f.force {
				tell(engine.ExitRefused, name, says+"; --force ends it")
				continue
			}
			tell(engine.ExitOK, name, says)
		case hold == nil && f.acceptUnits:
			r.free = append(r.free, name)
			continue
		case hold == nil:
			r.report.addHost(engine.ExitOK, name, "not held", false)
			continue
		case hold.Kind == engine.RunHold && !f.force:
			tell(engine.ExitRefused, name, hold.String()+"; that run, or the next, ends it (--force if you know better)")
			continue
		case hold.Kind != engine.RunHold && !s.isMine(*hold) && !f.force:
			tell(engine.ExitRefused, name, hold.String()+"; that is another person or bastion: ask there, or end it all the same with --force")
			continue
		default:
			if !a.json { // the outcome comes later
				r.report.addHost(engine.ExitOK, name, textutil.Printable(hold.String()), false)
			}
		}
		if hold != nil && hold.Kind == engine.RunHold && hold.Failed != nil && !f.acceptUnits {
			r.ofRuns = append(r.ofRuns, name)
			continue
		}
		r.ending = append(r.ending, name)
	}
	return r
}
