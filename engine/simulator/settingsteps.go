package simulator

import (
	"time"

	"holdfast/engine"
)

func (x settingDiff) settingSteps(t engine.Target) engine.Steps {
	before, after := x.buildRecords(t)
	record := settingOrder{Run: t.Run, After: &after}
	if !x.differs {
		return engine.Steps{
			Record:        []engine.Step{settingStep(t, "record", record.scriptText("record"), false)},
			NonDisruptive: []engine.Step{settingStep(t, "record", record.scriptText("quiet"), false)},
		}
	}
	write := settingOrder{Run: t.Run, Boot: t.Facts.BootID, Was: x.disk, Before: &before, Claim: true}
	s := engine.Steps{Actions: x.actions}
	if x.disk != x.want {
		s.Write = []engine.Step{settingStep(t, "write", write.scriptText("write"), false)}
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
			u.Failed = name
			failed.Unfinished = &u
			act := settingOrder{Run: t.Run, Action: name, Failed: &failed}
			s.Act = append(s.Act, settingStep(t, name, act.scriptText("act"), !t.Desired.StopOnError))
			quiet.Action, quiet.Failed = name, &failed
		default: // settings take no other action
		}
	}
	s.Record = []engine.Step{settingStep(t, "record", record.scriptText("record"), false)}
	s.NonDisruptive = []engine.Step{settingStep(t, "write", quiet.scriptText("quiet"), quiet.Action != "" && !t.Desired.StopOnError)}
	if endsService(x.want) {
		s.StoppedServices = []string{appUnit}
	}
	return s
}

func (x settingDiff) buildRecords(t engine.Target) (before, after engine.Record) {
	after = engine.Record{Schema: engine.RecordSchema, Config: Setting(x.want)}
	before = engine.Record{Schema: engine.RecordSchema, Unfinished: &engine.UnfinishedWrite{Run: t.Run, Boot: t.Facts.BootID, Config: Setting(x.want)}}
	if x.applied != nil {
		before.Config = x.applied.Config
		if wordOf(before.Config) == x.want {
			before.Unfinished.Touched = []string{"setting"}
		}
	}
	return before, after
}

func settingStep(t engine.Target, name, script string, fallback bool) engine.Step {
	return engine.Step{
		Name: name, On: t.Host.Name, Timeout: engine.Duration(actionLimit + time.Minute),
		Do: engine.Op{Exec: &engine.Exec{Script: script, Fallback: fallback}},
	}
}
