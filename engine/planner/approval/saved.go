package approval

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast/engine"
)

// CheckSame compares a plan with a saved plan. It returns an error unless both
// have the same work on the same hosts with the same steps and settings. Values
// that change by themselves do not count: the ID of the run, running services,
// the leader of a cluster, the time.
func CheckSame(p engine.Plan, saved engine.Plan) error {
	if err := checkPlay(p, saved); err != nil {
		return err
	}
	if len(saved.Refusals)+len(saved.Unfinished) > 0 {
		return fmt.Errorf("the saved plan begins nothing, as it was refused\nplan again")
	}
	if err := checkOverridden(p, saved); err != nil {
		return err
	}
	what, diffs := "the hosts have moved on since the plan was saved", changedWork(p, saved)
	if others := changedSettings(p.Settings, saved.Settings); len(others) > 0 {
		what, diffs = inventoryChanged, append(others, diffs...)
	}
	if len(diffs) == 0 {
		return nil
	}
	return fmt.Errorf("%s:\n  %s\nplan again", what, strings.Join(diffs, "\n  "))
}

// checkOverridden returns an error if a saved plan may override unfinished roll-outs, and hosts have recorded another one since.
func checkOverridden(p, saved engine.Plan) error {
	if !saved.OverridesRollout() {
		return nil
	}
	switch over := saved.OverriddenRun; {
	case p.OverriddenRun == "" || p.OverriddenRun == over:
	case over == "":
		return fmt.Errorf("the saved plan may override unfinished roll-outs of another version of holdfast, but run %s has begun one since\nplan again", p.OverriddenRun)
	default:
		return fmt.Errorf("the saved plan may override the unfinished roll-out of run %s, but run %s has begun another one since\nplan again", over, p.OverriddenRun)
	}
	for _, host := range p.OverriddenHosts {
		if !slices.Contains(saved.OverriddenHosts, host) {
			return fmt.Errorf("%s has a roll-out of another version of holdfast that the saved plan does not name\nplan again", host)
		}
	}
	return nil
}

// ComparedTexts returns the texts that CheckSame compares and that can contain
// a secret, each once and in order. Changes of hosts are not compared.
func ComparedTexts(p engine.Plan) []string {
	var texts []string
	for name, value := range p.Settings {
		texts = append(texts, name+": "+value)
	}
	seen := map[string]bool{}
	for _, hp := range p.Hosts {
		for _, s := range slices.Concat(hp.Stage, hp.Sequence, hp.Rollback) {
			compared := withoutVolatile(s)
			for at := &compared; at != nil; at = at.Undo {
				if text := encodeForComparison(at.Do); !seen[text] {
					seen[text] = true
					texts = append(texts, text)
				}
			}
		}
	}
	slices.Sort(texts)
	return texts
}

func subjectOf(setting string) string {
	subject, _, _ := strings.Cut(setting, ": ")
	return subject
}

// isOfWork reports whether a setting is in a plan only because a host has work.
func isOfWork(setting string) bool {
	kind, _, _ := strings.Cut(setting, " ")
	return kind == "host" || kind == "cluster" || kind == "pool"
}

func changedSettings(now, was map[string]string) []string {
	all := maps.Clone(was)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, now)
	before, subjects := map[string]bool{}, map[string]bool{} // subjects: in both
	for name := range was {
		before[subjectOf(name)] = true
	}
	for name := range now {
		subjects[subjectOf(name)] = before[subjectOf(name)]
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a, b := cmp.Or(now[name], "not set"), cmp.Or(was[name], "not set")
		switch {
		case a == b:
		case !subjects[subjectOf(name)] && isOfWork(name): // changedWork compares which hosts have work
		case strings.HasPrefix(a, "{") || strings.HasPrefix(b, "{"): // JSON is too long for a message
			out = append(out, name+" is not as it was")
		default:
			out = append(out, fmt.Sprintf("%s is %s now, and was %s", name, a, b))
		}
	}
	return out
}

// changedWork lists work that the saved plan lacks or has differently, then saved work that is no longer needed.
func changedWork(p, saved engine.Plan) []string {
	now, was := p.ByHost(), saved.ByHost()
	var out []string
	for _, hp := range p.Hosts {
		old := was[hp.Host]
		if old == nil {
			old = &engine.HostPlan{}
		}
		diffs := changedSince(hp, *old)
		if len(diffs) == 0 && old.Host == "" {
			diffs = []string{"its hold is to be adopted, which is not in the saved plan"}
		}
		if len(diffs) == 0 && !slices.ContainsFunc(old.Changes, func(c engine.Change) bool { return isMissing(hp, c) }) {
			diffs = changedSteps(hp, *old)
		}
		for _, d := range diffs {
			out = append(out, hp.Host+": "+d)
		}
	}
	const gone = " is in the saved plan, but not in the new plan"
	for _, old := range saved.Hosts {
		hp := now[old.Host]
		if hp == nil && len(old.Changes) == 0 {
			out = append(out, old.Host+": the adoption of its hold"+gone)
		}
		if hp == nil {
			hp = &engine.HostPlan{}
		}
		for _, c := range old.Changes {
			if isMissing(*hp, c) {
				out = append(out, fmt.Sprintf("%s: %s%s", old.Host, c, gone))
			}
		}
	}
	return out
}

func isMissing(hp engine.HostPlan, c engine.Change) bool {
	if c.Resource == engine.RecordResource {
		return len(hp.Changes) == 0
	}
	return !slices.ContainsFunc(hp.Changes, c.Same)
}

func changedSince(hp engine.HostPlan, saved engine.HostPlan) []string {
	var out []string
	for _, c := range hp.Changes {
		if isMissing(saved, c) {
			out = append(out, fmt.Sprintf("%s is not in the saved plan", c))
			continue
		}
		i := slices.IndexFunc(saved.Changes, c.Same)
		if c.Resource == engine.RecordResource || i < 0 {
			continue
		}
		switch was := saved.Changes[i]; {
		case was.Before != c.Before:
			out = append(out, fmt.Sprintf("%s is %s now, and was %s", c.Resource, c.Before, was.Before))
		case !slices.Equal(was.Actions, c.Actions):
			out = append(out, fmt.Sprintf("%s takes %s now, and took %s", c.Resource, joinActions(c.Actions), joinActions(was.Actions)))
		case was.Reason != c.Reason:
			out = append(out, fmt.Sprintf("%s is another change now (%s), and was: %s", c.Resource, cmp.Or(c.Reason, "no reason"), cmp.Or(was.Reason, "no reason")))
		}
	}
	return out
}

func joinActions(actions []engine.Action) string {
	var names []string
	for _, a := range actions {
		names = append(names, a.String())
	}
	return strings.Join(names, ", ")
}

func changedSteps(hp engine.HostPlan, saved engine.HostPlan) []string {
	var out []string
	for _, part := range [][2][]engine.Step{{hp.Stage, saved.Stage}, {hp.Sequence, saved.Sequence}, {hp.Rollback, saved.Rollback}} {
		now, was := part[0], part[1]
		n := 0
		for n < len(now) && n < len(was) && encodeForComparison(withoutVolatile(now[n])) == encodeForComparison(withoutVolatile(was[n])) {
			n++
		}
		switch {
		case n == len(now) && n == len(was):
		case n < len(was) && !hasStep(now, was[n].Name):
			out = append(out, "step "+was[n].Name+" is in the saved plan, but not in the new plan")
		case n < len(now) && !hasStep(was, now[n].Name):
			out = append(out, "step "+now[n].Name+" is not in the saved plan")
		case n == len(now) || n == len(was) || now[n].Name != was[n].Name:
			out = append(out, "its steps are not in the order, or not as many, as in the saved plan")
		case now[n].Do.AwaitBoot != nil && was[n].Do.AwaitBoot != nil && now[n].Do.AwaitBoot.BootID != was[n].Do.AwaitBoot.BootID:
			out = append(out, "it has rebooted")
		default:
			out = append(out, "step "+now[n].Name+" is not as in the saved plan")
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func hasStep(steps []engine.Step, name string) bool {
	return slices.ContainsFunc(steps, func(s engine.Step) bool { return s.Name == name })
}

// withoutVolatile returns the step without the parts that change by themselves.
// A script contains the ID of the run. The changes and the settings of the plan
// cover the effects of these parts.
func withoutVolatile(s engine.Step) engine.Step {
	switch do := s.Do; {
	case do.Exec != nil:
		s.Do.Exec = &engine.Exec{Fallback: do.Exec.Fallback, Probation: do.Exec.Probation}
	case do.ProveLogin != nil:
		s.Do.ProveLogin = &engine.ProveLogin{}
	case do.TakeHold != nil:
		s.Do.TakeHold = &engine.TakeHold{Adopt: do.TakeHold.Adopt, PreviousOS: do.TakeHold.PreviousOS}
		if r := do.TakeHold.Rollout; r != nil {
			s.Do.TakeHold.Rollout = &engine.Rollout{Targets: r.Targets}
		}
	case do.AwaitUnits != nil:
		s.Do.AwaitUnits = &engine.AwaitUnits{}
	case do.AwaitBoot != nil: // a pool that allows a soft reboot allows a full one, too
		wait := *do.AwaitBoot
		wait.Kind = ""
		s.Do.AwaitBoot = &wait
	case do.AwaitNode != nil:
		wait := *do.AwaitNode
		wait.Rebooted, wait.SoftRebooted = false, false
		s.Do.AwaitNode = &wait
	}
	if s.Undo != nil {
		undo := withoutVolatile(*s.Undo)
		s.Undo = &undo
	}
	return s
}
