package simulator

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/resource"
	"holdfast/engine/rollout"
)

// setting is the setting of a host.
type setting struct {
	disk, effect string
	applied      *resource.Record
	edited       time.Time // when a person last changed the setting
	writes       int       // number of writes by runs
	failing      bool      // the running script has exceeded its time
}

func (s *setting) configFacts(problem string) *resource.ConfigFacts {
	f := &resource.ConfigFacts{Applied: s.applied, Problem: problem, Nodes: map[string]resource.PathFacts{}}
	if s.disk != "" {
		f.Nodes[settingPath] = resource.PathFacts{Type: resource.PathFile, Digest: s.disk}
	}
	return f
}

func (h *Host) settingScript(b *Bastion, verb, order string, now time.Time) rollout.Reply {
	var o settingOrder
	if err := json.Unmarshal([]byte(order), &o); err != nil {
		return rollout.Reply{Code: 2, Stderr: err.Error()}
	}
	quiet := verb == "quiet"
	switch {
	case h.probation != nil:
		return rollout.Reply{Code: hostscript.ScriptHeld, Stderr: verb + ": another holdfast is writing to this host; nothing was done\n"}
	case h.isForeign(o, quiet) && (o.Claim || o.Before == nil):
		return notHeld
	case !h.goes.IsZero():
		return rollout.Reply{Code: 1, Stderr: "the system is going down\n"}
	case o.Boot != "" && o.Boot != string(h.bootID()):
		return rollout.Reply{Code: hostscript.ScriptChanged, Stderr: verb + ": the host has rebooted since it was planned; nothing was done\n"}
	case o.Before != nil && o.Was != h.setting.disk:
		return rollout.Reply{Code: hostscript.ScriptChanged, Stderr: verb + ": " + settingPath + " has changed since it was planned; nothing was done\n"}
	case h.traits.DiskFull && o.Action == "" || h.traits.DiskFull && quiet:
		return rollout.Reply{Code: hostscript.ScriptNoSpace, Stderr: verb + ": no space left on device; nothing was done\n"}
	case h.traits.ReadOnly && o.Before != nil:
		return rollout.Reply{Code: 1, Stderr: verb + ": " + settingPath + ": read-only file system; nothing was done\n"}
	}
	b.law().CheckSetting(&h.law, o.observed(quiet))
	for _, part := range []func(*Bastion, settingOrder, time.Time) *rollout.Reply{h.writeSetting, h.runAction, h.putOnRecord} {
		if reply := part(b, o, now); reply != nil {
			return *reply
		}
	}
	return rollout.Reply{}
}

func (h *Host) isForeign(o settingOrder, quiet bool) bool {
	if quiet {
		return h.heldBut(append(o.Holders, o.Run)...)
	}
	return !h.isHeld() || h.heldBut(o.Run)
}

var notHeld = rollout.Reply{Code: hostscript.ScriptHeld, Stderr: "hold: the host is held by someone else, or by nobody; nothing was done\n"}

func (c conn) receiveUpload(ctx context.Context, verb, text string) (refused *rollout.Reply, err error) {
	var o settingOrder
	_, rest := parseOrder(text)
	if verb != "write" && verb != "quiet" || json.Unmarshal([]byte(rest), &o) != nil || o.Before == nil {
		return nil, nil
	}
	var takes time.Duration
	c.b.site.withLock(func(time.Time) {
		if takes = c.h.traits.Upload; c.h.isForeign(o, verb == "quiet") {
			refused = &notHeld
		}
	})
	if refused != nil || takes == 0 {
		return refused, nil
	}
	return nil, c.b.clock.Sleep(ctx, takes)
}

func (h *Host) cutAt(where string, now time.Time) *rollout.Reply {
	if h.traits.CutsPower != where {
		return nil
	}
	h.traits.CutsPower = ""
	h.staged, h.goes = "", time.Time{}
	h.goDown(now)
	h.returns = now.Add(h.traits.Boot)
	return &rollout.Reply{Code: 1}
}

func (h *Host) writeSetting(b *Bastion, o settingOrder, now time.Time) *rollout.Reply {
	if o.Before == nil {
		return nil
	}
	if o.Proof {
		h.probation, h.proved = &probation{run: o.Run, was: h.setting, until: now.Add(probationLimit)}, ""
	}
	h.setting.applied = o.Before
	if cut := h.cutAt("before", now); cut != nil {
		return cut
	}
	word := wordOf(o.Before.Unfinished.Config)
	h.site.addToLog("%s writes %s to %s", b.ID, word, h.Name)
	b.law().CheckArrives(&h.law, word)
	h.setting.disk = word
	h.setting.writes++
	if h.traits.HalfDone {
		return &rollout.Reply{Code: hostscript.ScriptHalfDone, Stderr: "cp: no space left on device\nwrite: these could not be put back: " + settingPath + "\n"}
	}
	if actionsOf(word)[0].Type == engine.NoAction {
		h.setting.effect = word
	}
	return h.cutAt("written", now)
}

func (h *Host) runAction(b *Bastion, o settingOrder, now time.Time) *rollout.Reply {
	if o.Action == "" {
		return nil
	}
	h.site.addToLog("%s does %s on %s", b.ID, o.Action, h.Name)
	if strings.HasPrefix(o.Action, string(engine.RestartUnit)) {
		b.law().CheckDisrupt(&h.law)
		h.since, h.lost = now, now
	}
	if h.traits.ActFails || h.traits.ActHangs {
		if !h.traits.Forgets {
			h.setting.applied = o.Failed
		}
		if h.traits.AppDies {
			h.failed = append(h.failed, appUnit)
			h.units = slices.DeleteFunc(h.units, func(u string) bool { return u == appUnit })
		}
		h.setting.failing = h.traits.ActHangs
		return &rollout.Reply{Code: hostscript.ScriptActionFailed, Stderr: o.Action + ": exit status 1\n"}
	}
	takes := actionsOf(h.setting.disk)
	if last := takes[len(takes)-1]; string(last.Type)+" "+last.Unit == o.Action {
		h.setting.effect = h.setting.disk
		h.units = slices.DeleteFunc(h.enabledUnits(), func(u string) bool { return slices.Contains(h.failed, u) })
	}
	return h.cutAt("acted", now)
}

func (h *Host) hangTime(reply rollout.Reply) time.Duration {
	if !h.setting.failing || reply.Code != hostscript.ScriptActionFailed {
		return 0
	}
	h.setting.failing = false
	return actionLimit
}

func (h *Host) putOnRecord(b *Bastion, o settingOrder, now time.Time) *rollout.Reply {
	if o.After == nil {
		return nil
	}
	b.law().CheckRecord(&h.law, wordOf(o.After.Config))
	h.setting.applied = o.After
	return h.cutAt("recorded", now)
}

func (x settingDiff) settingSteps(t engine.Target) engine.Steps {
	before, after := x.buildRecords(t)
	record := settingOrder{Run: t.Run, After: &after}
	if !x.differs {
		return engine.Steps{
			Record:        []engine.Step{settingStep(t, "record", record.scriptText("record"), false)},
			NonDisruptive: []engine.Step{settingStep(t, "record", record.scriptText("quiet"), false)},
		}
	}
	write := settingOrder{Run: t.Run, Boot: string(t.Facts.BootID), Was: x.disk, Before: &before, Claim: true, Proof: touchesLogin(x.want) && x.disk != x.want}
	s := engine.Steps{Actions: x.actions}
	if x.disk != x.want || x.lacksRestarts(before.Unfinished) {
		s.Write = withProof(t, settingStep(t, "write", write.scriptText("write"), false), x.want)
	}
	quiet := write
	quiet.After = &after
	if h := t.Facts.Hold; h != nil && h.Kind == engine.RunHold {
		quiet.Holders = []string{h.Run}
	}
	for _, a := range x.actions {
		switch a.Type {
		case engine.RebootAction:
			s.Reboot = rebootSteps(t, plain)
		case engine.ReloadUnit, engine.RestartUnit:
			name := string(a.Type) + " " + a.Unit
			failed, u := before, *before.Unfinished
			u.FailedAction = name
			failed.Unfinished = &u
			act := settingOrder{Run: t.Run, Action: name, Failed: &failed}
			s.Act = append(s.Act, settingStep(t, name, act.scriptText("act"), !t.Desired.StopOnError))
			quiet.Action, quiet.Failed = name, &failed
		default: // the words of settings name no other action
		}
	}
	s.Record = []engine.Step{settingStep(t, "record", record.scriptText("record"), false)}
	fallback := quiet.Action != "" && !t.Desired.StopOnError
	if write.Proof {
		last := settingOrder{Run: quiet.Run, Holders: quiet.Holders, Action: quiet.Action, Failed: quiet.Failed, After: quiet.After}
		write.Holders = quiet.Holders
		s.NonDisruptive = append(withProof(t, settingStep(t, "write", write.scriptText("quiet"), false), x.want), settingStep(t, "record", last.scriptText("quiet"), fallback))
	} else {
		s.NonDisruptive = []engine.Step{settingStep(t, "write", quiet.scriptText("quiet"), fallback)}
	}
	if endsService(x.want) {
		s.StoppedServices = []string{appUnit}
	}
	return s
}

func (x settingDiff) buildRecords(t engine.Target) (before, after resource.Record) {
	after = resource.Record{Schema: resource.RecordSchema, Config: settingConfig(x.want)}
	before = resource.Record{Schema: resource.RecordSchema, Unfinished: &resource.UnfinishedWrite{Run: t.Run, Boot: t.Facts.BootID, Config: settingConfig(x.want)}}
	if x.applied != nil {
		before.Config = x.applied.Config
		if wordOf(before.Config) == x.want {
			before.Unfinished.Touched = []string{"setting"}
		}
		if u := x.applied.Unfinished; u != nil && x.disk == x.want && u.Boot == t.Facts.BootID {
			before.Unfinished.FailedAction = u.FailedAction // the write only adds services that must restart
		}
	}
	before.Unfinished.Restarts = x.dueRestarts(t)
	return before, after
}

// dueRestarts returns the services that must restart after a write, and the boots of these writes.
func (x settingDiff) dueRestarts(t engine.Target) map[string]resource.BootID {
	due := map[string]resource.BootID{}
	for _, unit := range t.Restarts {
		due[unit] = t.Facts.BootID
	}
	if x.applied != nil && x.applied.Unfinished != nil {
		for unit, boot := range x.applied.Unfinished.Restarts {
			if t.Facts.BootID.SharesKernel(boot) {
				due[unit] = boot
			}
		}
	}
	return due
}

func (x settingDiff) lacksRestarts(u *resource.UnfinishedWrite) bool {
	return len(u.Restarts) > 0 && (x.applied == nil || x.applied.Unfinished == nil || !maps.Equal(x.applied.Unfinished.Restarts, u.Restarts))
}

func settingStep(t engine.Target, name, script string, fallback bool) engine.Step {
	return engine.Step{
		Name: name, On: t.Host.Name, Timeout: engine.Duration(actionLimit + time.Minute),
		Do: engine.Op{Exec: &engine.Exec{Script: engine.NewScript(script), Fallback: fallback}},
	}
}
