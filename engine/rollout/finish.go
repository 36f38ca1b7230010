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
	case exit == engine.ExitOK:
		return exit, "every host matches"
	}
	var parts []string
	for _, x := range plan.Excluded {
		parts = append(parts, fmt.Sprintf("%s is %s (%s)", x.Host, x.Why, x.Reason))
	}
	return exit, "incomplete: " + strings.Join(parts, "; ")
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
