package etcd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"holdfast/engine"
)

// AwaitMember waits until the member on host is a healthy voter that has
// caught up, every other voter is healthy, and nothing is wrong with the
// cluster. The context bounds the wait; the error then says what was missing
// when the cluster was last seen, and wraps the context's. Each look tells what
// is missing.
func (c *Cluster) AwaitMember(ctx context.Context, host string, tell func(missing string)) error {
	missing := "the cluster was not seen yet"
	for {
		facts := c.Gather(ctx)
		if ctx.Err() == nil { // else the facts only show that time was up
			if missing = describeMissing(facts, host); missing == "" {
				return nil
			}
			tell(missing)
		}
		if err := sleepContext(ctx, c.cfg.Poll); err != nil {
			return c.stepError("wait for the member on "+host, fmt.Errorf("%s: %w", missing, err))
		}
	}
}

// describeMissing says what keeps the member on host from being back, or "".
func describeMissing(facts engine.ClusterFacts, host string) string {
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

// sleepContext waits for d, or returns why the context ended.
func sleepContext(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
