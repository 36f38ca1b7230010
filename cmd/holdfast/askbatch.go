package main

import (
	"context"
	"fmt"
	"strings"

	"holdfast/engine"
	"holdfast/engine/rollout"
	"holdfast/engine/textutil"
)

func (a applyRun) askBatch(ctx context.Context, plan engine.Plan) error {
	if !a.output.Flush(ctx) {
		return ctx.Err()
	}
	yes, err := a.askForYes(askAboutBatch(plan))
	if err == nil && !yes {
		return rollout.ErrNoStep
	}
	return err
}

// askAboutBatch returns the question before the next batch of a plan.
func askAboutBatch(plan engine.Plan) string {
	b := plan.Batches[0]
	where := "pool " + strings.Join(b.Pools, ", ")
	if len(b.Canaries) > 0 {
		where += ", canary"
	}
	if len(b.Canaries) > 0 && len(b.Canaries) < len(b.Pools) {
		where += " of " + strings.Join(b.Canaries, ", ")
	}
	var restarting []string // their other changes follow in a batch of their own
	for _, host := range b.Hosts {
		if hp := plan.Host(host); hp != nil && hp.RestartsFirst {
			restarting = append(restarting, host)
		}
	}
	if len(restarting) > 0 {
		where += "; only restarts services on " + strings.Join(textutil.FoldNames(restarting), ", ")
	}
	return fmt.Sprintf("Next: %s (%s). Go on? Only \"yes\" is taken for an answer:", strings.Join(textutil.FoldNames(b.Hosts), ", "), where)
}
