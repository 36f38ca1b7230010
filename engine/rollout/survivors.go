package rollout

import (
	"cmp"
	"context"
	"fmt"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/textutil"
)

// restartSurvivors restarts services that have survived a soft reboot. The steps after it wait until they are well.
func (r *stepRunner) restartSurvivors(ctx context.Context, hp engine.HostPlan, s engine.Step) error {
	do := *s.Do.RestartSurvivors
	reply, err := r.runScript(ctx, hp.Host, Script{Text: hostscript.RestartSurvivorsScript(r.holdOwner(), do), Op: s.Do})
	switch {
	case err != nil:
		return &engine.Failure{Kind: engine.UnreachableFailure, Cause: err.Error(), Stderr: r.Secrets.KeepTail(reply.Stderr, 4096)}
	case hostscript.IsHeldElsewhere(reply.Code):
		return &engine.Failure{Kind: engine.HeldFailure, Cause: cmp.Or(textutil.FirstLine(reply.Stderr), "somebody else holds the host")}
	case reply.Code != 0:
		f := r.scriptFailure(reply, fmt.Sprintf("exit status %d", reply.Code))
		f.Cause = cmp.Or(lastLine(f.Stderr), f.Cause)
		return f
	}
	return nil
}
