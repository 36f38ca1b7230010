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

// output passes lines of a script on.
type output struct {
	tell func(string)
	now  func() time.Time

	mu   sync.Mutex // a connection that was lost may still give lines
	told int
	left int // that were not passed on
	next time.Time
}

func (o *output) line(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.told >= firstLines && o.now().Before(o.next) {
		o.left++
		return
	}
	o.told, o.next = o.told+1, o.now().Add(whileLines)
	o.tell(text)
}

// end says how many lines there were besides.
func (o *output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.left > 0 {
		o.tell(fmt.Sprintf("it has printed %d more lines", o.left))
	}
}
