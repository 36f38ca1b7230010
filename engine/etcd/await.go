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
		facts := c.Observe(ctx)
		if ctx.Err() == nil { // else the facts only show that time was up
			if missing = lacking(facts, host); missing == "" {
				return nil
			}
			tell(missing)
		}
		if err := pause(ctx, c.cfg.Poll); err != nil {
			return c.wrap("wait for the member on "+host, fmt.Errorf("%s: %w", missing, err))
		}
	}
}

// lacking says what keeps the member on host from being back, or "".
func lacking(facts engine.ClusterFacts, host string) string {
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

// pause waits for d, or returns why the context ended.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
