package live

import (
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// terminalState tells the writer of lines how the terminal is. The program of bubbletea sets it.
type terminalState struct {
	width        atomic.Int64  // columns; 0: not known
	sized, drawn chan struct{} // closed when the width is known, and when the first frame was written
	size, draw   sync.Once
}

func (t *terminalState) setWidth(columns int) {
	t.width.Store(int64(columns))
	t.size.Do(func() { close(t.sized) })
}

// watchDrawing returns a writer that notes the first output. A file stays a file, so that bubbletea asks for the size of the
// terminal.
func (t *terminalState) watchDrawing(out io.Writer) io.Writer {
	if file, ok := out.(*os.File); ok {
		return watchedFile{file, t}
	}
	return watchedWriter{out, t}
}

type watchedWriter struct {
	io.Writer
	terminal *terminalState
}

// Write writes, and notes that it has.
func (w watchedWriter) Write(b []byte) (int, error) {
	defer w.terminal.noteDrawing()
	return w.Writer.Write(b)
}

type watchedFile struct {
	*os.File
	terminal *terminalState
}

// Write writes, and notes that it has.
func (w watchedFile) Write(b []byte) (int, error) {
	defer w.terminal.noteDrawing()
	return w.File.Write(b)
}

func (t *terminalState) noteDrawing() { t.draw.Do(func() { close(t.drawn) }) }

// hasPlausibleSize returns false for a terminal whose size bubbletea ignores as an error, so that it never draws a status. It
// returns true for a writer without a size.
func hasPlausibleSize(out io.Writer) bool {
	const maxSide, maxCells = 4096, 1 << 20 // of bubbletea
	file, ok := out.(*os.File)
	if !ok {
		return true
	}
	columns, lines, err := term.GetSize(int(file.Fd()))
	return err != nil || max(columns, lines) <= maxSide && columns*lines <= maxCells
}

// splitRows splits a text into rows that bubbletea prints one by one. It makes room for all rows of a text at once, so it
// overwrites the rows for which the terminal has no room. A row is narrower than the terminal, because the erasure after a
// full row takes its last letter. No colour lasts after a row, because the status follows. An empty row gets a space, because
// bubbletea would not print it.
func splitRows(text string, columns int) []string {
	if columns > 1 {
		text = ansi.Hardwrap(text, columns-1, true)
	}
	rows := strings.Split(text, "\n")
	for i, row := range rows {
		switch {
		case row == "":
			rows[i] = " "
		case strings.Contains(row, "\x1b"):
			rows[i] += ansi.ResetStyle
		}
	}
	return rows
}
