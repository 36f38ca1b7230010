package report

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
)

// advice is what to do next, in one line.
func (s *summary) advice(end engine.RunEnd, touched bool) string {
	switch {
	case end.Exit == engine.ExitStopped:
		return "to go on from here: " + s.again()
	case len(s.plan.Unfinished) > 0:
		return "to finish that roll-out, give the pools its OS again; to leave it unfinished: " + s.again("--continue-over-incomplete")
	case end.Exit == engine.ExitOK:
		return s.outside()
	}
	if !s.anyFailed() {
		switch s.onlyMissing() {
		case engine.Paused:
			return "to finish, take paused out of the inventory, and then: " + s.again()
		case engine.Closed:
			return "to finish, when the maintenance window is open: " + s.again()
		case engine.Held:
			return "to finish, when they are released: " + s.again()
		case engine.RolledBack:
			return "to finish, give another OS, or try this one again: " + s.again("--retry-rolled-back")
		}
	}
	if s.wentBack() {
		return "to go on from here, give another OS, or when that is put right try this one again: " + s.again("--retry-rolled-back")
	}
	if end.Exit == engine.ExitRefused && !s.anyFailed() && strings.Contains(end.Reason, "maintenance window") {
		return "to finish, when the maintenance window is open: " + s.again()
	}
	if touched {
		return "to go on from here, when that is put right: " + s.again()
	}
	return "to try again: " + s.again()
}

// wentBack reports whether a host was rolled back.
func (s *summary) wentBack() bool {
	for _, h := range s.hosts {
		if h.failure != nil && h.rolledBack() {
			return true
		}
	}
	return false
}

// outside is how to go on with hosts that this run was not for.
func (s *summary) outside() string {
	if rest := without(s.args, "--limit", "-l"); len(rest) < len(s.args) {
		return "for the hosts outside of the limit: " + command(rest)
	}
	return "to see what is left to do: holdfast plan"
}

// anyFailed reports whether something went wrong in the run, or made it refuse.
func (s *summary) anyFailed() bool {
	for _, h := range s.hosts {
		if h.failure != nil {
			return true
		}
	}
	return len(s.others)+len(s.plan.Refusals) > 0
}

// onlyMissing is why hosts were left out, if all were for one kind of reason.
func (s *summary) onlyMissing() engine.Why {
	var why engine.Why
	for _, x := range s.missing() {
		if x.Why == engine.Blocked && len(s.missing()) > 1 { // by others that are missing
			continue
		}
		if why != "" && x.Why != why {
			return ""
		}
		why = x.Why
	}
	return why
}

// again is the command that starts the same run once more, with more flags. A
// saved plan is left out of it: it no longer fits hosts that were changed.
func (s *summary) again(flags ...string) string {
	args := without(s.args, "--plan", "")
	for _, f := range flags {
		if !slices.Contains(args, f) {
			args = append(args, f)
		}
	}
	return command(args)
}

// command is a command line of holdfast as a shell takes it.
func command(args []string) string {
	words := []string{"holdfast"}
	if !slices.Contains(args, "apply") {
		words = append(words, "apply")
	}
	for _, arg := range args {
		words = append(words, engine.Quote(arg))
	}
	return strings.Join(words, " ")
}

// without is a command line without a flag and its value.
func without(args []string, long, short string) []string {
	rest := []string{}
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == long, arg == short && short != "":
			i++
		case strings.HasPrefix(arg, long+"="), short != "" && strings.HasPrefix(arg, short) && !strings.HasPrefix(arg, "--"):
		default:
			rest = append(rest, arg)
		}
	}
	return rest
}

// mostNamed is how many pools that are not complete are shown one by one.
const mostNamed = 20

// completeness says how far each pool was when the run ended.
func (p *Plain) completeness(end engine.RunEnd) string {
	if len(end.Pools) == 0 {
		return ""
	}
	open := slices.DeleteFunc(slices.Clone(end.Pools), func(p engine.PoolStatus) bool { return p.Complete })
	if end.Complete {
		total := 0
		for _, pool := range end.Pools {
			total += pool.Total
		}
		return p.Style.green(fmt.Sprintf("complete: %d of %s", total, count(total, "host", "hosts"))) + "\n"
	}
	var rows [][]string
	for _, pool := range open[:min(mostNamed, len(open))] {
		rows = append(rows, []string{"  " + pool.Name, fmt.Sprintf("%d of %d updated", pool.Counts[engine.Updated], pool.Total), notUpdated(pool)})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", p.Style.yellow("not complete: "+updatedOf(end.Pools)))
	_ = table(&b, rows) // a builder takes everything
	if more := len(open) - len(rows); more > 0 {
		fmt.Fprintf(&b, "  and %s more that are not complete\n", count(more, "pool", "pools"))
	}
	if n := len(end.Pools) - len(open); n > 0 {
		fmt.Fprintf(&b, "  %s complete\n", count(n, "pool is", "pools are"))
	}
	return b.String()
}

// notUpdated counts the other hosts of a pool by where they stand.
func notUpdated(p engine.PoolStatus) string {
	var parts []string
	for _, state := range engine.HostStates() {
		if n := p.Counts[state]; n > 0 && state != engine.Updated {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	return strings.Join(parts, ", ")
}
