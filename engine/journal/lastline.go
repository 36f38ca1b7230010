package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"holdfast/engine"
)

const (
	firstTailSize = 64 << 10 // bytes at the end of a journal that are looked at first; the end of most runs is in them
	maxTail       = 16 << 20 // no run's end is longer, whatever the site
	maxStart      = 1 << 20  // no run's start is longer
)

// readEnd tells of a run from the first and the last line of its journal. A
// run without an end, and a file that is no journal, give nothing.
func readEnd(dir, id string) (Run, bool) {
	f, err := os.Open(journalPath(dir, id))
	if err != nil {
		return Run{}, false
	}
	defer func() { _ = f.Close() }()
	line, err := readLine(bufio.NewReader(io.LimitReader(f, maxStart)))
	if err != nil {
		return Run{}, false
	}
	var start engine.Event
	if json.Unmarshal(line, &start) != nil || start.Start == nil {
		return Run{}, false
	}
	last, err := lastLine(f)
	var end engine.Event
	if err != nil || !bytes.Contains(last, []byte(`"type":"`+engine.RunEnded+`"`)) || json.Unmarshal(last, &end) != nil || end.End == nil {
		return Run{}, false
	}
	return Run{
		ID: id, Site: start.Start.Site, Holder: start.Start.Holder, Started: start.Time, Last: end.Time,
		End: end.End, Updated: end.End.Updated, Failed: end.End.Failed,
	}, true
}

// IsOver reports whether a run has come to its end, or has no journal in dir. One that died has not: its snapshot may be needed yet.
func IsOver(dir, id string) bool {
	if _, err := os.Lstat(journalPath(dir, id)); errors.Is(err, fs.ErrNotExist) {
		return true
	}
	_, ended := readEnd(dir, id)
	return ended
}

// lastLine is the last line of a file that has an end, without that. A file of
// one line has none: a run has ended after it began.
func lastLine(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	for n := int64(firstTailSize); ; n *= 4 {
		n = min(n, info.Size())
		tail := make([]byte, n)
		if _, err := f.ReadAt(tail, info.Size()-n); err != nil {
			return nil, err
		}
		if end := bytes.LastIndexByte(tail, '\n'); end >= 0 {
			if begin := bytes.LastIndexByte(tail[:end], '\n'); begin >= 0 {
				return tail[begin+1 : end], nil
			}
		}
		if n == info.Size() || n >= maxTail {
			return nil, errors.New("there is no line that could be the end of a run")
		}
	}
}
