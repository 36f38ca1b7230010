package summary

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/event"
	"holdfast/engine/hostscript"
	"holdfast/engine/textutil"
)

const (
	retryRolledBack    = "retry-rolled-back"
	continueIncomplete = "continue-over-incomplete"
)

// listAdvice returns advice, and the command to type after it.
func (s *Summary) listAdvice(end event.RunEnd) (lines []string, command string) {
	lines, next := s.chooseNext(end)
	return append(lines, secretLines(next)...), commandLine(next)
}

func (s *Summary) chooseNext(end event.RunEnd) (lines []string, next event.Command) {
	again := s.sameRun()
	switch {
	case end.Exit == engine.ExitStopped:
		return s.resumePlay(again, end)
	case end.Exit == engine.ExitOK:
		return nil, s.beyondRun()
	case len(end.Verdict.Unfinished) > 0:
		return []string{"to finish that roll-out, give the pools its OS again", "to leave it unfinished: add --" + continueIncomplete}, again
	}
	if len(end.Verdict.Failures)+len(end.Verdict.Refusals) == 0 {
		lines = awaitedLines(end.Verdict.Excluded)
	}
	listed := slices.ContainsFunc(end.Verdict.Excluded, func(x engine.Exclusion) bool { return x.Kind == engine.RolledBack })
	if s.hasRollback() && !listed { // the reason of an exclusion has the same advice
		lines = append(lines, "give the rolled back hosts another OS, or retry this one with --"+retryRolledBack)
	}
	if s.hasRollback() || listed {
		return s.resumePlay(withSwitch(again, retryRolledBack), end, lines...)
	}
	for _, u := range unhealthyClusters(end) {
		lines = append(lines, fmt.Sprintf("to look at etcd cluster %s: %s", u.Cluster, commandLine(s.otherCommand("etcd status", u.Cluster))),
			"to replace a member whose host is gone for good, if the cluster has manage = true: "+commandLine(s.otherCommand("etcd members plan", u.Cluster)))
	}
	if !s.touched {
		return lines, again
	}
	return s.resumePlay(again, end, lines...)
}

// unhealthyClusters returns the etcd clusters that stop a run.
func unhealthyClusters(end event.RunEnd) []etcdfacts.UnhealthyCluster {
	if end.Exit != engine.ExitFailed {
		return nil
	}
	return end.Verdict.UnhealthyClusters
}

// resumePlay returns the command that continues a run. A play repeats tasks
// on every host, such as a reboot. So the command for a play is limited to the
// hosts that are not done.
func (s *Summary) resumePlay(again event.Command, end event.RunEnd, lines ...string) ([]string, event.Command) {
	if s.plan.Play == "" {
		return lines, again
	}
	open := unfinishedHosts(end)
	switch {
	case len(end.Updated) == 0:
	case len(open) == 0:
		lines = append(lines, "hosts that are done get all tasks again, such as a reboot")
	default:
		lines = append(lines, "without --limit, hosts that are done get all tasks again, such as a reboot")
	}
	if len(open) > 0 && s.plays.shown > 1 {
		lines = append(lines, "with --limit, these hosts begin with the first play again; to leave out plays, give plays tags and use --tags")
	}
	if len(end.NotBegun) > 0 {
		lines = append(lines, "run the plays that were not begun for all their hosts, without --limit: select them with --tags")
	}
	if len(open) > 0 {
		again = withLimit(again, open)
	}
	return lines, again
}

func (s *Summary) hasRollback() bool {
	for _, h := range s.hosts {
		if h.failure != nil && h.rolledBack() {
			return true
		}
	}
	return false
}

// beyondRun returns the command for the hosts outside of the limit of the run, or else the one that shows the remaining
// work. A play is never suggested for all its hosts, because it repeats its tasks, such as a reboot.
func (s *Summary) beyondRun() event.Command {
	if s.plan.Play == "" && (hasFlag(s.command, limit) || len(s.limitOfSavedPlan()) > 0) {
		return withoutFlags(s.command, savedPlan, limit)
	}
	return s.otherCommand("plan")
}

// otherCommand returns another command for the same site, with the flags that every command has. The limit of the run is
// not among them.
func (s *Summary) otherCommand(name string, args ...string) event.Command {
	flags := slices.DeleteFunc(slices.Clone(s.command.Flags), func(f event.Flag) bool { return !f.Global || f.Name == limit })
	return event.Command{Name: name, Args: args, Flags: flags}
}

// awaitedLines returns a line for each kind of exclusion that a person or time can end.
func awaitedLines(list []engine.Exclusion) []string {
	var lines []string
	for _, x := range list {
		line := ""
		switch x.Kind {
		case engine.Paused:
			line = "take paused out of the inventory"
		case engine.InMaintenance:
			line = "take maintenance out of the inventory, once the work is done"
		case engine.Closed:
			line = "wait until the maintenance window is open"
		case engine.Held:
			line = "have the held hosts released"
		case engine.Unreachable:
			line = "find out why hosts cannot be reached"
		case engine.Lost:
			line = "repair the hosts that have not come back, or give them another OS or configuration"
		case engine.Unclear:
			line = "find out why hosts are not understood"
		case engine.NeedsFullReboot:
			line = "allow full reboots of the hosts that need one"
		case engine.BlockedDrain:
			line = "remove what stops the drains of the hosts that are left out"
		case engine.KubernetesAway:
			line = "find out why the API of Kubernetes does not answer"
		case engine.OldProcess:
			line = "restart the services that run from the OS before"
		default: // the other hosts wait for these, or have advice of their own
			continue
		}
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// limitOfSavedPlan returns the limit of a saved plan, which the flags of the run do not contain.
func (s *Summary) limitOfSavedPlan() []string {
	if !hasFlag(s.command, savedPlan) || hasFlag(s.command, limit) {
		return nil
	}
	return slices.Clone(s.plan.Selected)
}

// hasBegunRollout reports whether the run has recorded another roll-out on a
// host. The step that takes the hold records the roll-out.
func (s *Summary) hasBegunRollout() bool {
	for _, hp := range s.plan.Hosts {
		if h := s.hosts[hp.Host]; h != nil && !h.neverHeld && slices.ContainsFunc(hp.Sequence, func(step engine.Step) bool {
			return step.Do.TakeHold != nil && step.Do.TakeHold.Rollout != nil
		}) {
			return true
		}
	}
	return false
}

// sameRun returns the command that starts the same run again. It replaces a
// saved plan by the limit and the permissions of that plan, because the plan
// does not fit hosts that have changed.
func (s *Summary) sameRun() event.Command {
	c := s.command
	if hosts := s.limitOfSavedPlan(); len(hosts) > 0 {
		c = withLimit(c, hosts)
	}
	if hasFlag(c, savedPlan) {
		c = withPermissions(withoutFlags(c, savedPlan), s.plan)
	}
	if s.hasBegunRollout() { // the new roll-out may continue without the flag
		c = withoutFlags(c, continueIncomplete)
	}
	return c
}

// withPermissions adds the permissions of a plan. Flags of the command replace the hosts that the plan lets a run repair.
func withPermissions(c event.Command, p engine.Plan) event.Command {
	if p.FullReboot {
		c = withSwitch(c, "full-reboot")
	}
	if p.AnyEtcdVersion {
		c = withSwitch(c, "any-etcd-version")
	}
	if p.RetryRolledBack {
		c = withSwitch(c, retryRolledBack)
	}
	if p.OverridesRollout() {
		c = withSwitch(c, continueIncomplete)
	}
	if !hasFlag(c, repairMember) {
		for _, host := range p.Repair {
			c.Flags = append(slices.Clip(c.Flags), event.Flag{Name: repairMember, Value: host})
		}
	}
	return c
}

// secretLines names the flags that commandLine leaves out.
func secretLines(c event.Command) []string {
	names := secretFlags(c)
	if len(names) == 0 {
		return nil
	}
	return []string{"give these with their secret values, as before: " + strings.Join(names, ", ")}
}

func limitPattern(hosts []string) string {
	return strings.Join(textutil.FoldNames(hosts), ",")
}

// The flags that another run does not repeat as they are.
const (
	savedPlan    = "plan"
	limit        = "limit"
	repairMember = "repair-member"
)

func hasFlag(c event.Command, name string) bool {
	return slices.ContainsFunc(c.Flags, func(f event.Flag) bool { return f.Name == name })
}

func withoutFlags(c event.Command, names ...string) event.Command {
	c.Flags = slices.DeleteFunc(slices.Clone(c.Flags), func(f event.Flag) bool { return slices.Contains(names, f.Name) })
	return c
}

func withSwitch(c event.Command, name string) event.Command {
	if !hasFlag(c, name) {
		c.Flags = append(slices.Clip(c.Flags), event.Flag{Name: name, Switch: true})
	}
	return c
}

func withLimit(c event.Command, hosts []string) event.Command {
	c = withoutFlags(c, limit)
	c.Flags = append(c.Flags, event.Flag{Name: limit, Short: "l", Value: limitPattern(hosts)})
	return c
}

// commandLine returns a command as a person types it, without secret values.
func commandLine(c event.Command) string {
	words := []string{"holdfast", c.Name}
	for _, arg := range c.Args {
		if !strings.Contains(arg, textutil.Hidden) {
			words = append(words, hostscript.Quote(arg))
		}
	}
	for _, f := range c.Flags {
		if strings.Contains(f.Value, textutil.Hidden) {
			continue
		}
		words = append(words, spellFlag(f))
		if !f.Switch {
			words = append(words, hostscript.Quote(f.Value))
		}
	}
	return strings.Join(words, " ")
}

func spellFlag(f event.Flag) string {
	if f.Short != "" {
		return "-" + f.Short
	}
	return "--" + f.Name
}

// secretFlags returns the flags and variables with secret values.
func secretFlags(c event.Command) []string {
	var names []string
	for _, f := range c.Flags {
		if !strings.Contains(f.Value, textutil.Hidden) {
			continue
		}
		text := "--" + f.Name
		if name, _, ok := strings.Cut(f.Value, "="); ok && !strings.Contains(name, textutil.Hidden) {
			text += " " + name
		}
		names = append(names, text)
	}
	return names
}
