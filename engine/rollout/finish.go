package rollout

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"

	"holdfast/engine"
)

// finish turns how the loop ended into the outcome of the run.
func (r *Run) finish(ctx context.Context, p *progress, last engine.Plan, err error) engine.RunEnd {
	sort.Strings(p.updated)
	sort.Strings(p.failed)
	end := engine.RunEnd{Updated: p.updated, Failed: p.failed, Left: left(last, p)}
	var f *engine.Failure
	switch {
	case errors.Is(err, ErrDeclined):
		end.Exit, end.Reason = engine.ExitStopped, err.Error()
	case ctx.Err() != nil:
		end.Exit, end.Reason = engine.ExitStopped, "stopped at once by the operator; holds stay, and the next run goes on from here"
	case errors.As(err, &f):
		end.Exit, end.Reason = exitOf(f), f.Error()
	case err != nil:
		end.Exit, end.Reason = engine.ExitFailed, err.Error()
	default:
		end.Exit, end.Reason = verdict(last)
		if err := r.events.failed(); err != nil {
			end = unjournaled(end, err)
		}
	}
	return end
}

// unjournaled is the end of a run whose journal is not whole.
func unjournaled(end engine.RunEnd, err error) engine.RunEnd {
	if !strings.Contains(end.Reason, err.Error()) {
		end.Reason = err.Error() + "; apart from that: " + end.Reason
	}
	if end.Exit != engine.ExitStopped {
		end.Exit = engine.ExitFailed
	}
	return end
}

// verdict says how a plan ends on which nothing more can be done.
func verdict(plan engine.Plan) (engine.ExitCode, string) {
	exit := plan.Exit()
	switch {
	case len(plan.Refusals) > 0:
		return exit, "not safe to go on: " + strings.Join(plan.Refusals, "; ")
	case exit == engine.ExitOK && len(plan.Matching) < plan.Total:
		return exit, "every host within the limit matches"
	case exit == engine.ExitOK:
		return exit, "every host matches"
	}
	parts := []string{}
	if len(plan.Excluded) > 0 {
		parts = append(parts, absences(plan.Excluded))
	}
	if len(plan.Drift) > 0 {
		parts = append(parts, drift(plan.Drift))
	}
	return exit, "incomplete: " + strings.Join(parts, "; ")
}

// drift names the hosts whose pools only report that somebody changed them.
func drift(list []engine.HostDrift) string {
	var hosts []string
	for _, d := range list {
		hosts = append(hosts, d.Host)
	}
	return strings.Join(engine.FoldNames(hosts), ", ") + ": drift, which is only to be reported; holdfast plan says what"
}

// mostReasons is how many reasons fit into a sentence.
const mostReasons = 3

// absences says which hosts are left out and why, in one sentence; if there
// are many reasons, the plan is where to read them.
func absences(list []engine.Exclusion) string {
	reason := func(x engine.Exclusion) string { return fmt.Sprintf("%s (%s)", x.Why, x.Reason) }
	if parts := sorted(list, reason); len(parts) <= mostReasons {
		return strings.Join(parts, "; ")
	}
	why := func(x engine.Exclusion) string { return string(x.Why) }
	return strings.Join(sorted(list, why), "; ") + "; holdfast plan says why"
}

// sorted puts hosts of which the same is to be said together.
func sorted(list []engine.Exclusion, say func(engine.Exclusion) string) []string {
	var order []string
	hosts := map[string][]string{}
	for _, x := range list {
		what := say(x)
		if hosts[what] == nil {
			order = append(order, what)
		}
		hosts[what] = append(hosts[what], x.Host)
	}
	parts := make([]string, len(order))
	for i, what := range order {
		verb := "is"
		if len(hosts[what]) > 1 {
			verb = "are"
		}
		parts[i] = fmt.Sprintf("%s %s %s", strings.Join(engine.FoldNames(hosts[what]), ", "), verb, what)
	}
	return parts
}

// left names the hosts with work that this run did not finish.
func left(plan engine.Plan, p *progress) []string {
	done := map[string]bool{}
	for _, h := range append(append([]string(nil), p.updated...), p.failed...) {
		done[h] = true
	}
	var out []string
	for _, hp := range plan.Hosts {
		if !done[hp.Host] {
			out = append(out, hp.Host)
		}
	}
	for _, x := range plan.Excluded {
		if x.Why == engine.Blocked && !done[x.Host] {
			out = append(out, x.Host)
		}
	}
	sort.Strings(out)
	return out
}
