package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"holdfast/engine/event"
	"holdfast/engine/wire"
)

// Writer writes the events of a run to disk, one JSON object per line. An event is on disk when Emit returns,
// except progress, samples and states of the governor, whose loss is harmless.
type Writer struct {
	f      *os.File
	size   int64
	limits limits
}

// Create creates the journal of a run in dir, and dir if needed.
func Create(dir, run string) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create journal: %w", err)
	}
	f, err := os.OpenFile(journalPath(dir, run), os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create journal: %w", err)
	}
	if err := syncFolder(dir); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("create journal: %w", err)
	}
	return &Writer{f: f, limits: readableLimits()}, nil
}

// syncFolder syncs the names in a folder to disk. A power cut must not remove
// the journal of a run that took holds: without the journal, nobody knows that
// these holds belong to a dead run.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return f.Sync()
}

func journalPath(dir, run string) string { return filepath.Join(dir, run+".jsonl") }

// Emit writes an event. It refuses an event that no reader would take. An event
// whose loss is harmless may only fill half of the journal, so that it never takes
// the room of others.
func (w *Writer) Emit(e event.Event) error {
	line, err := wire.MarshalEvent(e)
	if err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	harmless := e.Type == event.StepProgress || e.Type == event.EtcdSampled || e.Type == event.StagingGoverned
	if harmless && (len(line) > w.limits.event || w.size+int64(len(line)) > w.limits.journal/2) {
		return nil
	}
	if err := w.limits.checkRoom(w.size, len(line)); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	n, err := w.f.Write(line)
	w.size += int64(n)
	if err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	if harmless {
		return nil
	}
	if err := w.f.Sync(); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	return nil
}

// Close closes the journal.
func (w *Writer) Close() error { return w.f.Close() }

// limits bound a journal, in bytes. They hold for writers and for readers, so that
// a run after a crash can read all that the dead run has written.
type limits struct {
	event   int   // one line; the plan of many hosts is long
	journal int64 // all lines
}

func readableLimits() limits { return limits{event: 256 << 20, journal: 4 << 30} }

func (l limits) checkRoom(size int64, line int) error {
	switch {
	case line > l.event:
		return fmt.Errorf("an event has %d MiB, and may have %d; select fewer hosts with --limit", line>>20, l.event>>20)
	case size+int64(line) > l.journal:
		return fmt.Errorf("the journal has %d MiB and is full; run the same command again, with a new journal", size>>20)
	}
	return nil
}

// decodeEvent decodes a line of a journal. An event of a newer schema is an error, because its fields may mean something
// else. It is then returned as far as it could be decoded.
func decodeEvent(line []byte) (event.Event, error) {
	var e event.Event
	err := json.Unmarshal(line, &e)
	if e.Schema > event.Schema {
		err = fmt.Errorf("the event has schema %d, and this version of holdfast reads schema %d; use the version that wrote the journal", e.Schema, event.Schema)
	}
	return e, err
}

// Read calls each for every event of a journal. It skips an incomplete last
// line, which remains when the bastion dies during a write.
func Read(path string, each func(event.Event) error) error {
	return readLines(path, func(line []byte) error {
		e, err := decodeEvent(line)
		if err != nil {
			return err
		}
		return each(e)
	})
}

// Replay calls each for every event of a run.
func Replay(dir, id string, each func(event.Event) error) error {
	return Read(journalPath(dir, id), each)
}

func readLines(path string, each func(line []byte) error) error {
	f, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return fmt.Errorf("read journal: %w", err)
	}
	defer func() { _ = f.Close() }()
	return readableLimits().scanLines(path, f, each)
}

func (l limits) scanLines(journal string, text io.Reader, each func(line []byte) error) error {
	whole := &io.LimitedReader{R: text, N: l.journal + 1}
	in := bufio.NewReaderSize(whole, 1<<16)
	for number := 1; ; number++ {
		line, err := l.readLine(in)
		if errors.Is(err, io.EOF) && whole.N > 0 {
			return nil // a line without a line end is incomplete
		}
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("the journal is longer than %d GiB", l.journal>>30)
		}
		if err == nil {
			err = each(line)
		}
		if err != nil {
			return fmt.Errorf("read journal %s:%d: %w", journal, number, err)
		}
	}
}

func (l limits) readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return bytes.TrimSuffix(line, []byte("\n")), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(line) > l.event:
			return nil, errors.New("a line is longer than any event")
		}
	}
}

func runID(name string) string {
	run, ok := strings.CutSuffix(name, ".jsonl")
	if !ok {
		return ""
	}
	return run
}
