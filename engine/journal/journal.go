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
type Writer struct{ f *os.File }

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
	return &Writer{f: f}, nil
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

// Emit writes an event.
func (w *Writer) Emit(e event.Event) error {
	line, err := wire.MarshalEvent(e)
	if err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	if _, err := w.f.Write(line); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	if e.Type == event.StepProgress || e.Type == event.EtcdSampled || e.Type == event.StagingGoverned {
		return nil
	}
	if err := w.f.Sync(); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	return nil
}

// Close closes the journal.
func (w *Writer) Close() error { return w.f.Close() }

// Limits of a journal that is read, in bytes.
const (
	maxEvent   = 256 << 20 // one line; the plan of many hosts is long
	maxJournal = 4 << 30   // all lines
)

// Read calls each for every event of a journal. It skips an incomplete last
// line, which remains when the bastion dies during a write.
func Read(path string, each func(event.Event) error) error {
	return readLines(path, func(line []byte) error {
		var e event.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		return each(e)
	})
}

func readLines(path string, each func(line []byte) error) error {
	f, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return fmt.Errorf("read journal: %w", err)
	}
	defer func() { _ = f.Close() }()
	return scanLines(path, f, each)
}

func scanLines(journal string, text io.Reader, each func(line []byte) error) error {
	whole := &io.LimitedReader{R: text, N: maxJournal}
	in := bufio.NewReaderSize(whole, 1<<16)
	for number := 1; ; number++ {
		line, err := readLine(in)
		if errors.Is(err, io.EOF) && whole.N > 0 {
			return nil // a line without a line end is incomplete
		}
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("the journal is longer than %d GiB", maxJournal>>30)
		}
		if err == nil {
			err = each(line)
		}
		if err != nil {
			return fmt.Errorf("read journal %s:%d: %w", journal, number, err)
		}
	}
}

func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return bytes.TrimSuffix(line, []byte("\n")), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(line) > maxEvent:
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
