package rollout

import (
	"fmt"
	"sync"
	"time"
)

// How much of what a script prints becomes events: its first lines, and then
// one in a while, which shows that it goes on. A host does not fill the disk of
// the bastion.
const (
	firstLines = 200
	whileLines = 10 * time.Second
)

// outputThrottle passes lines of a script on.
type outputThrottle struct {
	report func(string)
	now    func() time.Time

	mu     sync.Mutex // a connection that was lost may still give lines
	passed int
	left   int // that were not passed on
	next   time.Time
}

func (o *outputThrottle) addLine(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.passed >= firstLines && o.now().Before(o.next) {
		o.left++
		return
	}
	o.passed, o.next = o.passed+1, o.now().Add(whileLines)
	o.report(text)
}

// reportRest says how many lines there were besides.
func (o *outputThrottle) reportRest() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.left > 0 {
		o.report(fmt.Sprintf("it has printed %d more lines", o.left))
	}
}
