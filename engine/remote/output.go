package remote

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
)

// maxNoise is the number of bytes that an output keeps from before the script.
const maxNoise = 64 << 10

// output receives one output stream of a session: first the output before the script, then the output of the script,
// within the allowance.
type output struct {
	allowance *allowance
	live      func([]byte)

	mu       sync.Mutex
	noise    []byte
	ahead    int // bytes received until the script runs
	kept     parts
	isClosed bool // drop all further output
	ready    bool
	prompts  int

	onReady  func() // called once, when the script runs
	onPrompt func() // called for each prompt before the script runs
}

// Write fails if there is too much output, so that reading stops.
func (o *output) Write(p []byte) (int, error) {
	own, err := o.splitOwn(p)
	if err == nil && len(own) > 0 {
		if err = o.allowance.reserveBytes(len(own)); err == nil {
			o.keepChunk(own)
		}
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// readSize is the size of one read in bytes. It is small, because most scripts print little and each host of a fleet
// has two outputs.
const readSize = 4 << 10

var readBuffers = sync.Pool{New: func() any { return new([readSize]byte) }}

// ReadFrom reads with a smaller buffer than io.Copy, which would allocate eight times as much.
func (o *output) ReadFrom(r io.Reader) (int64, error) {
	var total int64
	piece := readBuffers.Get().(*[readSize]byte)
	defer readBuffers.Put(piece)
	buf := piece[:]
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

var readyLine = []byte(readyWord + "\n")

func (o *output) splitOwn(p []byte) ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.isClosed {
		return nil, nil
	}
	if o.ready {
		return p, nil
	}
	if o.ahead += len(p); o.ahead > maxAhead {
		return nil, tooMuchOutput{limit: maxAhead, ahead: true}
	}
	return o.awaitReadyLine(p), nil
}

func (o *output) awaitReadyLine(p []byte) []byte {
	o.noise = append(o.noise, p...)
	if i := bytes.Index(o.noise, readyLine); i >= 0 {
		rest := o.noise[i+len(readyLine):]
		o.noise = o.noise[:i]
		o.ready = true
		o.onReady()
		return rest
	}
	for n := bytes.Count(o.noise, []byte(passwordPrompt)); o.prompts < n; o.prompts++ {
		o.onPrompt()
	}
	if len(o.noise) > maxNoise {
		o.noise = append([]byte(nil), o.noise[len(o.noise)-maxNoise/2:]...)
		o.prompts = bytes.Count(o.noise, []byte(passwordPrompt))
	}
	return nil
}

func (o *output) keepChunk(p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.isClosed {
		return
	}
	if o.live != nil {
		o.live(p)
	}
	o.kept.appendBytes(p)
}

func (o *output) closeOutput() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.isClosed = true
	kept := o.kept.joinParts()
	o.kept = nil
	return kept
}

func (o *output) dropKept() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.isClosed, o.kept = true, nil
}

func (o *output) printedBefore() (noise string, ready bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.noise), o.ready
}

// parts holds a long text in pieces, so that growing never copies the text.
type parts [][]byte

// The first piece has leastPart bytes. Each further piece is twice as large as
// the piece before, up to mostPart bytes.
const (
	leastPart = 1 << 10
	mostPart  = 1 << 20
)

func (ps *parts) appendBytes(p []byte) {
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

func (ps parts) joinParts() string {
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
