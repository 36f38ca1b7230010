package rollout

import (
	"context"
	"errors"
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
// and that the bastion cannot serve. The staging of these hosts would fail. All
// contents are checked for completeness before the first is read. The time may end before
// all are read; a damaged object that is not read then shows when a staging fails.
func (p *planning) warnOfMirror(ctx context.Context, plan *engine.Plan) {
	if p.Contents == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, planCheckTime)
	defer cancel()
	contents := groupByContent(*plan)
	var faults textutil.Groups[string, string]
	var unchecked []string
	faulty := map[engine.Content]bool{}
	addFault := func(c engine.Content, hosts []string, err error) {
		faulty[c] = true
		faults.Add(textutil.Printable(err.Error()), hosts...)
	}
	for c, hosts := range contents.All() {
		switch err := p.Contents.CheckComplete(ctx, c); {
		case ctx.Err() != nil && errors.Is(err, ctx.Err()):
			unchecked = append(unchecked, engine.ShortDigest(c.Commit+c.Image))
		case err != nil:
			addFault(c, hosts, err)
		}
	}
	for c, hosts := range contents.All() {
		if faulty[c] {
			continue
		}
		if err := p.Contents.VerifyContent(ctx, c); err != nil && ctx.Err() == nil {
			addFault(c, hosts, err)
		}
	}
	plan.Warnings = slices.Clip(plan.Warnings)
	for fault, hosts := range faults.All() {
		plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s cannot fetch the OS from the bastion: %s", strings.Join(textutil.FoldNames(hosts), ", "), fault))
	}
	if len(unchecked) > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded) { // after a stop, nobody reads the warning
		plan.Warnings = append(plan.Warnings, fmt.Sprintf("the mirror did not show within %s whether %s is complete; holdfast mirror checks it", planCheckTime, strings.Join(unchecked, ", ")))
	}
}

func groupByContent(plan engine.Plan) textutil.Groups[engine.Content, string] {
	var contents textutil.Groups[engine.Content, string]
	for _, hp := range plan.Hosts {
		for _, s := range hp.Stage {
			if c := contentOf(s); c != nil {
				contents.Add(*c, hp.Host)
			}
		}
	}
	return contents
}

// findContentFault returns the fault of the content that a failed step fetched,
// or nil.
func (p *Ports) findContentFault(ctx context.Context, s engine.Step) error {
	c := contentOf(s)
	if c == nil || p.Contents == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, failureCheckTime)
	defer cancel()
	err := p.Contents.CheckComplete(ctx, *c)
	if err == nil {
		err = p.Contents.VerifyContent(ctx, *c)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func contentOf(s engine.Step) *engine.Content {
	if s.Do.Exec == nil {
		return nil
	}
	return s.Do.Exec.Content
}
