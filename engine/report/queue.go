package report

import (
	"context"
	"sync"

	"holdfast/engine/event"
)

// Queue passes events to a view in their order, without a limit, and never waits for
// the view: a run must not stop, with hosts that are down, because nobody reads its
// output, as after Ctrl-S or if a pager or a disk of logs does not take more.
type Queue struct {
	view Sink

	mu   sync.Mutex
	list []event.Event
	idle chan struct{} // closed when the view has shown every event; nil: it has
}

// NewQueue returns an empty queue for a view.
func NewQueue(view Sink) *Queue { return &Queue{view: view} }

// Emit adds an event. Errors of the view are ignored.
func (q *Queue) Emit(e event.Event) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.list = append(q.list, e)
	if q.idle == nil {
		q.idle = make(chan struct{})
		go q.showAll() // nobody can wait for it: the view may never return
	}
	return nil
}

func (q *Queue) showAll() {
	for list := q.takeEvents(); len(list) > 0; list = q.takeEvents() {
		for _, e := range list {
			_ = q.view.Emit(e)
		}
	}
}

// takeEvents returns the waiting events. If there are none, it marks the queue as idle, and the next Emit starts showAll again.
func (q *Queue) takeEvents() []event.Event {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.list
	if q.list = nil; len(list) == 0 {
		close(q.idle)
		q.idle = nil
	}
	return list
}

// Flush waits until the view has shown every event, and reports whether it has. It waits no longer than ctx.
func (q *Queue) Flush(ctx context.Context) bool {
	q.mu.Lock()
	idle := q.idle
	q.mu.Unlock()
	if idle == nil {
		return true
	}
	select {
	case <-idle:
		return true
	case <-ctx.Done():
	}
	select {
	case <-idle: // both have ended
		return true
	default:
		return false
	}
}
