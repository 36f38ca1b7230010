package etcd

import (
	"context"
	"fmt"
	"strings"

	"holdfast/engine/clock"
	"holdfast/engine/etcdfacts"
)

// AwaitMember waits until the member on host is a healthy voter that has caught up, every other voter is healthy, and
// the cluster has no problem. After each gather it calls report with the conditions that are still missing. The context
// bounds the wait; the error then names the missing conditions of the last gather, and wraps the error of the context.
func (c *Cluster) AwaitMember(ctx context.Context, host string, report func(missing string)) error {
	missing := "its state is not known yet"
	for {
		facts := c.Gather(ctx)
		if ctx.Err() == nil { // after the end of the context, the facts only show missing answers
			if missing = describeMissing(facts, host); missing == "" {
				return nil
			}
			report(missing)
		}
		if err := clock.Sleep(ctx, c.cfg.Poll); err != nil {
			return c.cfg.stepError("wait for the member on "+host, fmt.Errorf("%s: %w", missing, err))
		}
	}
}

func describeMissing(facts etcdfacts.ClusterFacts, host string) string {
	var parts []string
	if facts.Problem != "" {
		parts = append(parts, facts.Problem)
	}
	found := false
	for _, m := range facts.Members {
		found = found || m.Host == host
		if !m.Healthy && (!m.Learner || m.Host == host) {
			parts = append(parts, fmt.Sprintf("member %s is not healthy: %s", m.Name, m.Problem))
		}
	}
	if !found && facts.Problem == "" {
		parts = append(parts, "no member is on "+host)
	}
	return strings.Join(parts, "; ")
}
