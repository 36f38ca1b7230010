package journal

import (
	"fmt"
	"io"
	"os"

	"holdfast/engine/event"
)

// Condition is the condition of a journal that was read to its end, or as far
// as it can be read.
type Condition struct {
	Cut      bool   // the last line is incomplete, because the bastion died during a write
	UnderWay bool   // the run has not ended, and its process lives
	Problem  string // why the lines from a damaged one on were not read, with its number
}

// Inspect calls each for every event of a run, and tells the condition of its
// journal. A damaged line ends the reading without an error if an event is
// before it. An event of a newer schema is an error, because its fields may mean
// something else. Errors and problems name the line. state is the folder of the identity of this bastion.
func Inspect(dir, id, state string, each func(event.Event) error) (Condition, error) {
	f, err := openRegular(journalPath(dir, id), os.O_RDONLY)
	if err != nil {
		return Condition{}, fmt.Errorf("read journal: %w", err)
	}
	defer func() { _ = f.Close() }()
	var c Condition
	var site string
	var refused error
	last := &lastByte{r: f}
	read, ended := 0, false
	err = readableLimits().scanLines(f.Name(), last, func(line []byte) error {
		e, err := decodeEvent(line)
		if e.Schema > event.Schema {
			refused = err
		}
		if err != nil {
			return err
		}
		if e.Start != nil {
			site = e.Start.Site
		}
		read++
		ended = ended || e.Type == event.RunEnded
		refused = each(e)
		return refused
	})
	switch {
	case refused != nil, err != nil && read == 0:
		return c, err
	case read == 0:
		return c, fmt.Errorf("read journal: %s has no event", f.Name())
	case err != nil:
		c.Problem = err.Error()
	default:
		c.Cut = last.b != '\n'
	}
	c.UnderWay = !ended && (hasLock(dir, site, id) || isLiving(state, id))
	return c, nil
}

// lastByte keeps the last byte that was read.
type lastByte struct {
	r io.Reader
	b byte
}

func (l *lastByte) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if n > 0 {
		l.b = p[n-1]
	}
	return n, err
}
