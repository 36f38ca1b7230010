package htmlview

import (
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
)

// waitTable has the gates of a run with their answers, and its soaks and pauses.
// Good answers of one gate are folded.
type waitTable struct {
	open   map[string]*wait // by subject and step
	byKey  map[string]*wait
	ended  []*wait
	more   int    // waits that are not kept
	longer []span // waits of the whole run, for the timeline
}

type wait struct {
	step, about string
	gate        bool
	began, last time.Time
	times       int
	longest     engine.Duration
	bad         string // last answer that was not good
	result      string // "" while it is under way
	failed      bool
}

// maxWaits is the number of rows about gates that a page shows.
const maxWaits = 300

func waitKey(e event.Event) string {
	return e.Host + "\x00" + e.Cluster + "\x00" + e.Pool + "\x00" + e.Step
}

func (t *waitTable) isOpen(e event.Event) bool { return t.open[waitKey(e)] != nil }

func (t *waitTable) add(e event.Event, gate bool) {
	if t.open == nil {
		t.open, t.byKey = map[string]*wait{}, map[string]*wait{}
	}
	key := waitKey(e)
	w := t.open[key]
	switch {
	case e.Type == event.StepStarted:
		t.open[key] = &wait{step: e.Step, about: aboutText(e), gate: gate, began: e.Time, last: e.Time}
	case w == nil:
	case e.Type == event.StepProgress:
		if gate && e.Message != "" {
			w.bad = e.Message
		}
	default:
		delete(t.open, key)
		w.last, w.times, w.longest = e.Time, 1, e.Took
		w.setResult(e.Failure)
		if e.Host == "" {
			t.longer = addSpan(t.longer, span{waited, w.began, e.Time})
		}
		t.fold(w)
	}
}

func aboutText(e event.Event) string {
	switch {
	case e.Host != "":
		return "each host"
	case e.Cluster != "":
		return "etcd cluster " + e.Cluster
	case e.Pool != "":
		return "pool " + e.Pool
	case e.Batch > 0:
		return "its batch"
	}
	return "the run"
}

func (w *wait) setResult(f *engine.Failure) {
	switch {
	case f == nil && w.gate:
		w.result = "good"
	case f == nil:
		w.result = "over"
	case f.Kind == engine.StoppedFailure:
		w.result = "stopped"
	default:
		w.result, w.failed = "failed: "+f.Cause, true
		if f.Host != "" {
			w.about = f.Host
		}
	}
}

func (t *waitTable) fold(w *wait) {
	key := strings.Join([]string{w.step, w.about, w.result}, "\x00")
	if first := t.byKey[key]; first != nil {
		first.times++
		first.last = w.last
		first.longest = max(first.longest, w.longest)
		if w.bad != "" {
			first.bad = w.bad
		}
		return
	}
	if len(t.ended) == maxWaits {
		t.more++
		return
	}
	t.byKey[key] = w
	t.ended = append(t.ended, w)
}
