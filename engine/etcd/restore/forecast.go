package restore

import (
	"slices"

	"holdfast/engine/etcd/membership"
)

// Forecast is the course of a restore if every step succeeds.
type Forecast struct {
	Source  Source
	Steps   []Step
	Refusal *Refusal // reason why the restore ends; nil: the cluster then runs again
}

// maxSteps bounds a forecast. A restore takes at most six steps on each host.
const maxSteps = 1000

// Plan returns all steps until the cluster runs again, or until a refusal.
func Plan(s State) Forecast {
	f := Forecast{Source: s.Source()}
	for range maxSteps {
		step, err := Next(s)
		if err != nil {
			f.Refusal, _ = err.(*Refusal)
			return f
		}
		f.Steps = append(f.Steps, step)
		if step.Action == Finish {
			return f
		}
		s = s.applyStep(step)
	}
	panic("restore: the steps of cluster " + s.Cluster + " do not end")
}

func (s State) applyStep(step Step) State {
	source := s.Source()
	s.Hosts = slices.Clone(s.Hosts)
	i := slices.IndexFunc(s.Hosts, func(h Host) bool { return h.Name == step.Host })
	h := &s.Hosts[i]
	switch step.Action {
	case Preflight:
		h.Checked = true
	case Issue:
		h.Uncertified = ""
	case Build:
		h.Running, h.Record, h.Phase, h.Of = false, membership.Restoring, Ready, source.Identity
	case SetAside:
		h.HasData, h.Running, h.Record, h.Phase, h.Cleaned = false, false, membership.NoRecord, NoPhase, true
	case Replace:
		h.HasData, h.Phase = true, Placed
	case Start:
		h.Running = true
		s.Answers = []membership.Member{{ID: "new", Name: h.Name, Host: h.Name, Healthy: true, Leader: true}}
	case Finish:
	}
	return s
}
