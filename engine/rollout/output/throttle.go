// Package output splits the output of a script into lines, and drops lines that
// come too fast.
package output

import (
	"fmt"
	"sync"
	"time"
)

// The first lines of a script become events. After them, at most one line in each
// linePause becomes an event: it shows that the script continues. So a host cannot
// fill the disk of the bastion.
const (
	firstLines = 200
	linePause  = 10 * time.Second
)

// Throttle passes on the lines of a script, and drops lines that come too fast.
type Throttle struct {
	Report func(string)
	Now    func() time.Time

	mu     sync.Mutex // a lost connection may still deliver lines in another goroutine
	passed int
	left   int // number of dropped lines
	next   time.Time
}

// AddLine reports a line, or drops it.
func (o *Throttle) AddLine(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.passed >= firstLines && o.Now().Before(o.next) {
		o.left++
		return
	}
	o.passed, o.next = o.passed+1, o.Now().Add(linePause)
	o.Report(text)
}

// ReportRest reports the number of dropped lines at the end.
func (o *Throttle) ReportRest() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.left > 0 {
		o.Report(fmt.Sprintf("it has printed %d more lines", o.left))
	}
}
