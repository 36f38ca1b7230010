package remote

import (
	"bytes"
	"errors"
	"io"
	"sync"
)

// maxNoise bounds what is kept of what comes before the script.
const maxNoise = 64 << 10

// output takes one of a session's output streams: first what comes before the script, then the script's own, up to a limit.
type output struct {
	limit int64
	live  func([]byte)

	mu      sync.Mutex
	noise   []byte
	kept    bytes.Buffer
	cut     bool
	shut    bool // nobody is interested any more
	ready   bool
	prompts int

	onReady  func() // called once, when the script runs
	onPrompt func() // called for each prompt before that
}

// Write never fails, so that the host can always go on.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.shut:
	case o.ready:
		o.keep(p)
	default:
		o.await(p)
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
		_, _ = o.Write(buf[:n]) // never fails
		switch {
		case errors.Is(err, io.EOF):
			return total, nil
		case err != nil:
			return total, err
		}
	}
}

var readyLine = []byte(started + "\n")

// await looks for the line that says that the script runs.
func (o *output) await(p []byte) {
	o.noise = append(o.noise, p...)
	if i := bytes.Index(o.noise, readyLine); i >= 0 {
		rest := o.noise[i+len(readyLine):]
		o.noise = o.noise[:i]
		o.ready = true
		o.onReady()
		if len(rest) > 0 {
			o.keep(rest)
		}
		return
	}
	for n := bytes.Count(o.noise, []byte(prompt)); o.prompts < n; o.prompts++ {
		o.onPrompt()
	}
	if len(o.noise) > maxNoise {
		o.noise = append([]byte(nil), o.noise[len(o.noise)-maxNoise/2:]...)
		o.prompts = bytes.Count(o.noise, []byte(prompt))
	}
}

// keep stores what fits.
func (o *output) keep(p []byte) {
	if o.live != nil {
		o.live(p)
	}
	room := o.limit - int64(o.kept.Len())
	if int64(len(p)) > room {
		o.cut = true
		p = p[:room]
	}
	o.kept.Write(p)
}

// close returns what was kept; nothing is taken after it.
func (o *output) close() (kept []byte, cut bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shut = true
	return o.kept.Bytes(), o.cut
}

// before returns what came before the script, and whether the script came.
func (o *output) before() (noise string, ready bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.noise), o.ready
}
