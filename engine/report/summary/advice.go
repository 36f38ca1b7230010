package summary

import (
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/textutil"
)

func (s *Summary) adviceLines(end event.RunEnd, touched bool) []string {
	switch {
	case end.Exit == engine.ExitStopped:
		return s.resumeAdvice("to go on from here: ", end)
	case len(s.plan.Unfinished) > 0:
		return []string{"to finish that roll-out, give the pools its OS again; to leave it unfinished: " + s.rerunCommand("--continue-over-incomplete")}
	case end.Exit == engine.ExitOK:
		return []string{s.beyondLimitAdvice()}
	}
	if !s.hasFailures() {
		if line := s.finishAdvice(end); line != "" {
			return []string{line}
		}
	}
	switch {
	case s.hasRollback():
		return s.resumeAdvice("to go on from here, give another OS, or when that is put right try this one again: ", end, retryRolledBack)
	case touched:
		return s.resumeAdvice("to go on from here, when that is put right: ", end)
	}
	return []string{"to try again: " + s.rerunCommand()}
}

const retryRolledBack = "--retry-rolled-back"

// resumeAdvice returns the command that continues a run. A play repeats tasks
// on every host, such as a reboot. So the command for a play is limited to the
// hosts that are not done.
func (s *Summary) resumeAdvice(what string, end event.RunEnd, flags ...string) []string {
	open := slices.Concat(end.Failed, end.Untouched)
	slices.Sort(open)
	if s.plan.Play == "" || len(open) == 0 {
		return []string{what + s.rerunCommand(flags...)}
	}
	lines := []string{
		what + s.rerunCommand(append(flags, "--limit="+limitPattern(open))...),
		"without that limit, hosts that are done get all tasks again, such as a reboot",
	}
	if len(end.NotBegun) > 0 {
		lines = append(lines, "the plays that were not begun are for all their hosts: give these plays tags to choose them with --tags")
	}
	return lines
}

func limitPattern(hosts []string) string {
	return strings.Join(textutil.FoldNames(slices.Compact(hosts)), ",")
}

func (s *Summary) hasRollback() bool {
	for _, h := range s.hosts {
		if h.failure != nil && h.rolledBack() {
			return true
		}
	}
	return slices.ContainsFunc(s.openExclusions(), func(x engine.Exclusion) bool { return x.Kind == engine.RolledBack })
}

func (s *Summary) beyondLimitAdvice() string {
	args := withoutFlag(s.args, "--plan", "")
	if rest := withoutFlag(args, "--limit", "-l"); len(rest) < len(args) || len(s.savedPlanLimit()) > 0 {
		return "for the hosts outside of the limit: " + commandLine("apply", rest)
	}
	return "to see the remaining work: " + commandLine("plan", planArguments(s.args))
}

func (s *Summary) hasFailures() bool {
	for _, h := range s.hosts {
		if h.failure != nil {
			return true
		}
	}
	return len(s.others)+len(s.plan.Refusals) > 0
}

func (s *Summary) finishAdvice(end event.RunEnd) string {
	all := s.awaitedKinds(end)
	if len(all) == 1 {
		switch all[0] {
		case engine.Paused:
			return "to finish, take paused out of the inventory, and then: " + s.rerunCommand()
		case engine.Closed:
			return "to finish, when the maintenance window is open: " + s.rerunCommand()
		case engine.Held:
			return "to finish, when they are released: " + s.rerunCommand()
		case engine.RolledBack:
			return "to finish, give another OS, or try this one again: " + s.rerunCommand(retryRolledBack)
		default:
			return ""
		}
	}
	var parts, flags []string
	for _, why := range all {
		if why == engine.RolledBack {
			flags = append(flags, retryRolledBack)
		}
		parts = append(parts, map[engine.ExclusionKind]string{
			engine.Paused:      "take paused out of the inventory",
			engine.Closed:      "wait until the maintenance window is open",
			engine.Held:        "have the held hosts released",
			engine.RolledBack:  "give another OS, or try this one again",
			engine.Unreachable: "see to the hosts that cannot be reached",
			engine.Unclear:     "see to those that are not understood",
		}[why])
	}
	if len(parts) == 0 {
		return ""
	}
	return "to finish, " + strings.Join(parts, "; ") + "; and then: " + s.rerunCommand(flags...)
}

// awaitedKinds returns each kind once. It skips hosts that wait for other excluded hosts.
func (s *Summary) awaitedKinds(end event.RunEnd) []engine.ExclusionKind {
	var all []engine.ExclusionKind
	for _, x := range s.openExclusions() {
		if x.Kind != engine.Blocked && x.Kind != engine.Failed && !slices.Contains(all, x.Kind) {
			all = append(all, x.Kind)
		}
	}
	for _, x := range end.Verdict.Excluded { // the window may have closed during the run
		if x.Kind == engine.Closed && !slices.Contains(all, engine.Closed) {
			all = append(all, engine.Closed)
		}
	}
	return all
}

// savedPlanLimit returns the limit of a saved plan, which the arguments of the run do not contain.
func (s *Summary) savedPlanLimit() []string {
	if len(withoutFlag(s.args, "--plan", "")) == len(s.args) || len(withoutFlag(s.args, "--limit", "-l")) < len(s.args) {
		return nil
	}
	return slices.Clone(s.plan.Selected)
}

// hasBegunRollout reports whether the run has recorded another roll-out on a
// host. The step that takes the hold records the roll-out.
func (s *Summary) hasBegunRollout() bool {
	for _, hp := range s.plan.Hosts {
		if h := s.hosts[hp.Host]; h != nil && !h.neverHeld && slices.ContainsFunc(hp.Sequence, func(step engine.Step) bool {
			return step.Do.TakeHold != nil && len(step.Do.TakeHold.Targets) > 0
		}) {
			return true
		}
	}
	return false
}

// rerunCommand returns the command that starts the same run again, with more
// flags. It replaces a saved plan by the limit of that plan, because the plan
// does not fit hosts that have changed.
func (s *Summary) rerunCommand(flags ...string) string {
	args := withoutFlag(s.args, "--plan", "")
	if s.hasBegunRollout() { // the new roll-out may continue without the flag
		args = withoutSwitch(args, "--continue-over-incomplete", "")
	}
	if kept := s.savedPlanLimit(); len(kept) > 0 {
		flags = append([]string{"--limit=" + limitPattern(kept)}, flags...)
	}
	for _, f := range flags {
		if hosts, ok := strings.CutPrefix(f, "--limit="); ok {
			args = append(withoutFlag(args, "--limit", "-l"), "-l", hosts)
		} else if !slices.Contains(args, f) {
			args = append(args, f)
		}
	}
	args, left := withoutHidden(args)
	text := commandLine("apply", args)
	if len(left) > 0 {
		text += " (and " + strings.Join(left, ", ") + " as before)"
	}
	return text
}
