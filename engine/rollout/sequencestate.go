package rollout

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// sequenceState is the progress of a host's sequence.
type sequenceState struct {
	held    bool          // this run holds the host, or may hold it
	changed bool          // the host is changed, or may be changed
	written bool          // a step without an undo has changed the host, or may have
	back    bool          // the host runs the desired OS, and its units were checked
	undo    []engine.Step // steps that have begun and have an undo
	lasting []string      // commands without an undo that have begun, by the names of their steps
	drains  []engine.Step // drains and commands of this run that have succeeded, and whose undo has not begun

	unproved *sequenceState // progress before a change on probation; nil: none is on probation
}

// noteStep notes the effect of a step that began. A step whose answer is lost
// may have had its full effect.
func (q *sequenceState) noteStep(s engine.Step, failure *engine.Failure) {
	if s.Do.ProveLogin != nil && q.unproved != nil {
		if didNothing(failure) { // the change on probation was undone
			q.changed, q.written = q.unproved.changed, q.unproved.written
		}
		q.unproved = nil
	}
	if didNothing(failure) {
		return
	}
	if s.Do.Exec != nil && s.Do.Exec.Probation {
		before := *q
		q.unproved = &before
	}
	q.held = q.held || s.Do.TakeHold != nil
	q.back = q.back || s.Do.AwaitUnits != nil // this step comes after any boot
	if !s.ChangesHost {
		return
	}
	q.changed = true
	isUndone := func(begun engine.Step) bool { return begun.Undo != nil && reflect.DeepEqual(begun.Undo.Do, s.Do) }
	q.drains = slices.DeleteFunc(slices.Clone(q.drains), isUndone)
	if failure == nil && (s.Do.Command != nil || s.Do.DrainNode != nil) {
		q.drains = append(q.drains, s)
	}
	if s.Do.Command != nil && s.Undo == nil && !slices.ContainsFunc(q.undo, isUndone) {
		q.lasting = append(q.lasting, s.Name)
	}
	if failure == nil {
		q.undo = slices.DeleteFunc(slices.Clone(q.undo), isUndone)
	}
	q.written = q.written || hasNoUndo(s)
	if s.Undo != nil {
		q.undo = append(q.undo, s)
	}
}

// isDrainedBy reports whether the host is still drained by an earlier step that does the same.
func (q *sequenceState) isDrainedBy(s engine.Step) bool {
	return slices.ContainsFunc(q.drains, func(done engine.Step) bool { return reflect.DeepEqual(done.Do, s.Do) })
}

func hasNoUndo(s engine.Step) bool {
	stops := s.Do.RestartSurvivors != nil && s.Do.RestartSurvivors.Stop
	return s.ChangesHost && s.Undo == nil && (stops || s.Do.Exec != nil || s.Do.Defragment != nil || s.Do.Command != nil)
}

func didNothing(f *engine.Failure) bool {
	return f != nil && (f.Kind == engine.HeldFailure || f.Kind == engine.ChangedFailure || f.Kind == engine.FullFailure || f.Kind == engine.CannotFailure)
}

// describeDrained says that a host without the hold of this run is still drained. No later run knows of
// that drain, and this run must not undo it, because somebody else may have the host.
func (q sequenceState) describeDrained() string {
	var drained []string
	for _, s := range q.undo {
		drained = append(drained, "; "+s.Name+" was done or begun, and was not undone; when the host may work again, run: "+textutil.FirstLine(s.UndoText()))
	}
	for _, name := range q.lasting {
		drained = append(drained, "; "+name+" was done or begun, and has no undo")
	}
	return strings.Join(drained, "")
}

// mayRetreat reports whether the host can be released unchanged. A host of a
// dead run cannot, because its earlier state is unknown.
func (q sequenceState) mayRetreat(hp engine.HostPlan, failure *engine.Failure) bool {
	canUndo := !q.written && slices.Contains([]engine.FailureKind{engine.StoppedFailure, engine.JournalFailure, engine.DrainFailure, engine.KubernetesFailure}, failure.Kind)
	return hp.Adopt == "" && (!q.changed || canUndo)
}

// mayRollBack reports whether a host boots its previous OS because a step
// failed: its pool has rollback on failure, and the step tests the OS. Other
// steps, such as the release, may fail with a good OS. A probe whose connection
// is lost may, too.
func (q sequenceState) mayRollBack(ctx context.Context, hp engine.HostPlan, s engine.Step, failure *engine.Failure) bool {
	switch failure.Kind {
	case engine.HeldFailure, engine.StoppedFailure, engine.JournalFailure, engine.UnreachableFailure:
		return false
	case "", engine.ActionFailure, engine.CannotFailure, engine.ChangedFailure, engine.FullFailure, engine.LatencyFailure, engine.RefusedFailure, engine.UnsafeFailure, engine.DrainFailure, engine.KubernetesFailure:
	}
	judges := s.Do.AwaitUnits != nil || s.Do.AwaitEtcd != nil || s.Do.Gate != nil || s.Do.Exec != nil // an Exec here is a task
	return q.back && judges && len(hp.Rollback) > 0 && ctx.Err() == nil
}
