package rollout

import (
	"context"

	"holdfast/engine"
	"holdfast/engine/event"
)

func (l *playLoop) takeSnapshots(ctx context.Context, plan engine.Plan) error {
	l.state.worked = true
	for _, s := range plan.Before {
		name := s.Do.Snapshot.Cluster
		e := event.Event{Cluster: name, Step: s.Name}
		var where string
		failure := l.runInterruptible(ctx, func(ctx context.Context) *engine.Failure {
			return l.runBetweenEvents(e, func(*stepHeartbeat) error {
				ctx, cancel := withStepTimeout(ctx, s)
				defer cancel()
				var err error
				where, err = l.Clusters.Snapshot(ctx, name)
				return err
			})
		})
		if failure != nil {
			if failure.Kind == "" {
				failure.Hint = "nothing was disrupted; snapshot = false in the etcd_cluster block skips the snapshot"
			}
			return failure
		}
		l.noteEvent(event.Event{Type: event.StepProgress, Cluster: name, Step: s.Name, Message: where})
		l.state.saved[name] = struct{}{}
	}
	return nil
}
