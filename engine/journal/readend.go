package journal

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"os"

	"holdfast/engine/event"
)

// firstTailSize is the number of bytes that are read first. Most last lines fit.
const firstTailSize = 64 << 10

// readEnd reads a run from the first and the last line of its journal. It returns false for a run without an
// end, and for other files.
func readEnd(dir, id string) (Run, bool) {
	run, err := readStartAndEnd(dir, id)
	return run, err == nil && run.End != nil
}

// readStartAndEnd reads the first line of a journal and, if the run has ended, the last. A line of a newer schema is an error.
func readStartAndEnd(dir, id string) (Run, error) {
	f, err := openRegular(journalPath(dir, id), os.O_RDONLY)
	if err != nil {
		return Run{}, err
	}
	defer func() { _ = f.Close() }()
	line, err := readableLimits().readLine(bufio.NewReader(f))
	if err != nil {
		return Run{}, err
	}
	start, err := decodeEvent(line)
	if start.Schema > event.Schema {
		return Run{}, err
	}
	if err != nil || start.Start == nil {
		return Run{}, errors.New("it does not begin with the start of a run")
	}
	s := start.Start
	run := Run{ID: id, Site: s.Site, Holder: s.Holder, Bastion: s.Bastion, Cluster: s.Cluster, Maintenance: s.Maintenance, Started: start.Time, Last: start.Time}
	last, err := lastLine(f)
	if err != nil || !bytes.Contains(last, []byte(`"type":"`+event.RunEnded+`"`)) {
		return run, nil
	}
	end, err := decodeEvent(last)
	if end.Schema > event.Schema {
		return Run{}, err
	}
	if err == nil && end.End != nil {
		run.Last, run.End, run.Done, run.Updated, run.Failed = end.Time, end.End, end.End.Updated, end.End.Updated, end.End.Failed
	}
	return run, nil
}

// IsOver reports whether a run has ended, or has no journal in dir. A dead run
// has not ended, because its snapshot may still be needed.
func IsOver(dir, id string) bool {
	if _, err := os.Lstat(journalPath(dir, id)); errors.Is(err, fs.ErrNotExist) {
		return true
	}
	_, ended := readEnd(dir, id)
	return ended
}

// lastLine returns the last complete line of a file, without its line end. It
// returns an error for a file of one line, because a run that has ended has at
// least two lines.
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
		if n == info.Size() || n > int64(readableLimits().event) {
			return nil, errors.New("there is no line that could be the end of a run")
		}
	}
}
