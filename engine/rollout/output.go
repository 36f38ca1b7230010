package rollout

import (
	"fmt"
	"sync"
	"time"
)

// The lines of a script that become events: the first ones, and then one per
// whileLines, which shows that it goes on. So a host cannot fill the disk of the
// bastion.
const (
	firstLines = 200
	whileLines = 10 * time.Second
)

// outputThrottle passes on the lines of a script, and drops lines that come too fast.
type outputThrottle struct {
	report func(string)
	now    func() time.Time

	mu     sync.Mutex // a lost connection may still deliver lines
	passed int
	left   int // dropped lines
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

func (o *outputThrottle) reportRest() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.left > 0 {
		o.report(fmt.Sprintf("it has printed %d more lines", o.left))
	}
}
