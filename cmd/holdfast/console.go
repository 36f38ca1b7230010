package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"holdfast/cmd/holdfast/internal/terminal"
	"holdfast/engine/input"
	"holdfast/engine/report"
	"holdfast/engine/report/termtext"
	"holdfast/engine/wire"
)

// console has the streams of a command, and the contexts in which it asks and reads.
type console struct {
	stdin, stdout, stderr *os.File
	soft                  context.Context
	hard                  context.Context // ends when the command must end at once; nil: never ends
	waits                 *input.Waits
	json                  bool
	output                *report.Queue // events that the command shows; nil: it shows none
}

func (c *console) printWarning(text string) { fmt.Fprintln(c.stderr, "holdfast: warning:", text) }

func (c *console) printNotice(text string) { fmt.Fprintln(c.stderr, "holdfast:", text) }

func (c *console) printJSON(v any) error { return wire.WriteJSON(c.stdout, v) }

// tableWriter returns standard output, for tables.
func (c *console) tableWriter() io.Writer { return termtext.Sized(c.stdout, c.outputStyle().Columns) }

// planWriter returns the writer for the planned steps. With --json, standard output has only
// events. So if the command asks a question, the operator reads the steps on standard error.
func (c *console) planWriter(asks bool) io.Writer {
	switch {
	case !c.json:
		return c.stdout
	case asks:
		return c.stderr
	}
	return io.Discard
}

// outputStyle returns the colours and the width of standard output.
func (c *console) outputStyle() termtext.Style {
	style := termtext.Style{Colour: isColourTerminal(c.stdout)}
	if columns, _, err := term.GetSize(int(c.stdout.Fd())); err == nil {
		style.Columns = columns
	}
	return style
}

// isLiveTerminal reports whether a terminal can show lines that change.
func isLiveTerminal(f *os.File) bool {
	return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// isColourTerminal reports whether a terminal may show colours. NO_COLOR switches off only these.
func isColourTerminal(f *os.File) bool { return isLiveTerminal(f) && os.Getenv("NO_COLOR") == "" }

// showsStopping reports whether the output of the run suffices to show the effect
// of Ctrl-C, so that no message on standard error is needed. This is so if the
// output is for people, and goes to a terminal or standard error does not.
func (c *console) showsStopping() bool {
	return !c.json && (term.IsTerminal(int(c.stdout.Fd())) || !term.IsTerminal(int(c.stderr.Fd())))
}

// askForYes takes any answer other than "yes" for no.
func (c *console) askForYes(text string) bool {
	answer, err := terminal.Question{Text: text}.Ask(c.soft)
	return err == nil && string(answer) == "yes"
}

func (c *console) newInputs() input.Files {
	ctx := c.hard
	if ctx == nil {
		ctx = context.Background()
	}
	return input.NewFiles(ctx, c.waits)
}
