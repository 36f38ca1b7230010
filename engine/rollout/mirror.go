package rollout

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// Reading a whole OS takes longer than a plan may. After a failed staging the time
// does not matter.
const (
	planCheckTime    = 10 * time.Second
	failureCheckTime = 5 * time.Minute
)

// warnOfMirror adds a warning to a plan for each content that hosts are to fetch
// and that the bastion cannot serve. The staging of these hosts would fail.
func (p *planning) warnOfMirror(ctx context.Context, plan *engine.Plan) {
	if p.CheckContent == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, planCheckTime)
	defer cancel()
	var contents textutil.Groups[engine.Content, string]
	for _, hp := range plan.Hosts {
		for _, s := range hp.Stage {
			if c := contentOf(s); c != nil {
				contents.Add(*c, hp.Host)
			}
		}
	}
	var faults textutil.Groups[string, string]
	for c, hosts := range contents.All() {
		if err := p.CheckContent(ctx, c); err != nil {
			faults.Add(textutil.Printable(err.Error()), hosts...)
		}
	}
	for fault, hosts := range faults.All() {
		plan.Warnings = append(slices.Clip(plan.Warnings), fmt.Sprintf("%s cannot fetch the OS from the bastion: %s", strings.Join(textutil.FoldNames(hosts), ", "), fault))
	}
}

// findContentFault returns the fault of the content that a failed step fetched,
// or nil.
func (p *Ports) findContentFault(ctx context.Context, s engine.Step) error {
	c := contentOf(s)
	if c == nil || p.CheckContent == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, failureCheckTime)
	defer cancel()
	return p.CheckContent(ctx, *c)
}

func contentOf(s engine.Step) *engine.Content {
	if s.Do.Exec == nil {
		return nil
	}
	return s.Do.Exec.Content
}
