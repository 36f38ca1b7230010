package content

import (
	"io"
	"sync"
)

// maxRanges is the number of files whose sent ranges are kept for each transfer, some tens of KiB for each host. Earlier files
// have arrived long ago, so no host asks for them again.
const maxRanges = 256

// sentRanges counts the bytes of files that a host is sent, and which of them it is sent again, because a lost connection
// had not delivered them.
type sentRanges struct {
	mu    sync.Mutex
	bytes int64
	again int64
	files map[string]*fileRange
	order []string // names of files, the first one sent longest ago
}

// fileRange is the range of a file that was sent. If a host asks for ranges with a gap in between, it is the later one.
type fileRange struct{ from, to int64 }

func newSentRanges() *sentRanges { return &sentRanges{files: map[string]*fileRange{}} }

func (s *sentRanges) addRange(name string, from, to int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes += to - from
	r := s.files[name]
	switch {
	case r == nil:
		if len(s.order) == maxRanges {
			delete(s.files, s.order[0])
			s.order = s.order[1:]
		}
		s.files[name], s.order = &fileRange{from, to}, append(s.order, name)
	case from > r.to || to < r.from:
		*r = fileRange{from, to}
	default:
		s.again += max(0, min(to, r.to)-max(from, r.from))
		*r = fileRange{min(from, r.from), max(to, r.to)}
	}
}

// countBytes returns the number of bytes, and how many of them were sent again.
func (s *sentRanges) countBytes() (bytes, again int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes, s.again
}

// countingFile counts the bytes that are read.
type countingFile struct {
	io.ReadSeeker
	name   string
	offset int64
	sent   *sentRanges
}

// Read reads from the file.
func (c *countingFile) Read(p []byte) (int, error) {
	n, err := c.ReadSeeker.Read(p)
	if n > 0 {
		c.sent.addRange(c.name, c.offset, c.offset+int64(n))
	}
	c.offset += int64(n)
	return n, err
}

// Seek sets the offset of the next Read.
func (c *countingFile) Seek(offset int64, whence int) (int64, error) {
	at, err := c.ReadSeeker.Seek(offset, whence)
	if err == nil {
		c.offset = at
	}
	return at, err
}
