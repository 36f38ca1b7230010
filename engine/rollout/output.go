package rollout

import (
	"fmt"
	"strings"
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

// lineSplitter calls f for every line of a stream that arrives in pieces.
type lineSplitter struct {
	f    func(string)
	rest string
}

func (l *lineSplitter) write(b []byte) {
	all := strings.Split(l.rest+string(b), "\n")
	l.rest = all[len(all)-1]
	if len(l.rest) > 4096 {
		l.rest = "" // the output is untrusted: bound the line
	}
	for _, line := range all[:len(all)-1] {
		if line = strings.TrimSpace(line); line != "" {
			l.f(line)
		}
	}
}

func (l *lineSplitter) flushLastLine() {
	if rest := strings.TrimSpace(l.rest); rest != "" {
		l.f(rest)
	}
	l.rest = ""
}
