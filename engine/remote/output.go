package remote

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
)

// maxNoise bounds what is kept of what comes before the script.
const maxNoise = 64 << 10

// output takes one of a session's output streams: first what comes before the script, then the script's own, as far as the
// allowance goes.
type output struct {
	allowance *allowance
	live      func([]byte)

	mu      sync.Mutex
	noise   []byte
	ahead   int // bytes before the script
	kept    parts
	shut    bool // nobody is interested any more
	ready   bool
	prompts int

	onReady  func() // called once, when the script runs
	onPrompt func() // called for each prompt before that
}

// Write fails when there is too much, so that nothing more is read.
func (o *output) Write(p []byte) (int, error) {
	own, err := o.split(p)
	if err == nil && len(own) > 0 {
		if err = o.allowance.take(len(own)); err == nil {
			o.keep(own)
		}
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// portion is how much is read at once: most scripts say little, and there are two outputs for each host of a fleet.
const portion = 4 << 10

// ReadFrom is io.Copy's way around its own buffer, which is eight times as large.
func (o *output) ReadFrom(r io.Reader) (int64, error) {
	var total int64
	buf := make([]byte, portion)
	for {
		n, err := r.Read(buf)
		total += int64(n)
		if _, err := o.Write(buf[:n]); err != nil {
			return total, err
		}
		switch {
		case errors.Is(err, io.EOF):
			return total, nil
		case err != nil:
			return total, err
		}
	}
}

var readyLine = []byte(started + "\n")

// split returns the part of p that is the script's own.
func (o *output) split(p []byte) ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.shut {
		return nil, nil
	}
	if o.ready {
		return p, nil
	}
	if o.ahead += len(p); o.ahead > maxAhead {
		return nil, tooMuch{limit: maxAhead, ahead: true}
	}
	return o.await(p), nil
}

// await looks for the line that says that the script runs, and returns what follows it.
func (o *output) await(p []byte) []byte {
	o.noise = append(o.noise, p...)
	if i := bytes.Index(o.noise, readyLine); i >= 0 {
		rest := o.noise[i+len(readyLine):]
		o.noise = o.noise[:i]
		o.ready = true
		o.onReady()
		return rest
	}
	for n := bytes.Count(o.noise, []byte(prompt)); o.prompts < n; o.prompts++ {
		o.onPrompt()
	}
	if len(o.noise) > maxNoise {
		o.noise = append([]byte(nil), o.noise[len(o.noise)-maxNoise/2:]...)
		o.prompts = bytes.Count(o.noise, []byte(prompt))
	}
	return nil
}

// keep stores p, unless nobody is interested any more.
func (o *output) keep(p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.shut {
		return
	}
	if o.live != nil {
		o.live(p)
	}
	o.kept.add(p)
}

// close returns what was kept; nothing is taken after it.
func (o *output) close() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shut = true
	kept := o.kept.join()
	o.kept = nil
	return kept
}

// drop forgets what was kept; nothing is taken after it.
func (o *output) drop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shut, o.kept = true, nil
}

// before returns what came before the script, and whether the script came.
func (o *output) before() (noise string, ready bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.noise), o.ready
}

// parts is a long text in pieces, which never moves while it grows.
type parts [][]byte

// Sizes of the pieces: each is as long as all before it, within these.
const (
	leastPart = 4 << 10
	mostPart  = 1 << 20
)

func (ps *parts) add(p []byte) {
	for len(p) > 0 {
		last := len(*ps) - 1
		if last < 0 || len((*ps)[last]) == cap((*ps)[last]) {
			size := leastPart
			if last >= 0 {
				size = min(2*cap((*ps)[last]), mostPart)
			}
			*ps = append(*ps, make([]byte, 0, size))
			last++
		}
		piece := (*ps)[last]
		n := min(len(p), cap(piece)-len(piece))
		(*ps)[last] = append(piece, p[:n]...)
		p = p[n:]
	}
}

func (ps parts) join() string {
	var all strings.Builder
	size := 0
	for _, p := range ps {
		size += len(p)
	}
	all.Grow(size)
	for i, p := range ps {
		all.Write(p)
		ps[i] = nil
	}
	return all.String()
}
