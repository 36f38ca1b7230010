package main

import (
	"context"
	"errors"
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
	messages              messages      // to standard error
}

func (c *console) printWarning(text string) { c.printNotice("warning: " + text) }

func (c *console) printNotice(text string) {
	to := c.messages
	if to.queue == nil {
		to = newMessages(c.stderr)
	}
	to.printMessage("holdfast: " + text)
}

func (c *console) printJSON(v any) error { return wire.WriteJSON(c.stdout, v) }

// tableWriter returns standard output, for tables.
func (c *console) tableWriter() io.Writer { return termtext.Sized(c.stdout, c.outputStyle().Columns) }

// planWriter returns the writer for the planned steps of a command that asks a question, or not.
func (c *console) planWriter(asks bool) io.Writer {
	if c.json && !asks {
		return io.Discard
	}
	return c.questionStream()
}

// questionStream returns the stream on which the operator reads the plan that a question is about.
// With --json, standard output has only events.
func (c *console) questionStream() *os.File {
	if c.json {
		return c.stderr
	}
	return c.stdout
}

// outputStyle returns the colours and the width of standard output.
func (c *console) outputStyle() termtext.Style { return styleOf(c.stdout) }

// styleOf returns the colours and the width of a stream.
func styleOf(f *os.File) termtext.Style {
	style := termtext.Style{Colour: isColourTerminal(f)}
	if columns, _, err := term.GetSize(int(f.Fd())); err == nil {
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

// checkTerminal returns an error if nobody can be asked. The session of su -c and of setsid has no terminal, although their standard input
// may be one.
func (c *console) checkTerminal() error {
	if !term.IsTerminal(int(c.stdin.Fd())) {
		return errors.New("standard input is not a terminal")
	}
	return terminal.CheckSession()
}

// askForYes takes any answer other than "yes" for no, and returns an error if nobody could be asked.
func (c *console) askForYes(text string) (bool, error) {
	answer, err := c.askOperator(text)
	return answer == "yes", err
}

// askOperator returns the answer of the operator. Ctrl-C, the end of the input and a lost terminal are the empty answer.
func (c *console) askOperator(text string) (string, error) {
	answer, err := terminal.Question{Text: text}.Ask(c.soft)
	if errors.Is(err, terminal.ErrNoTerminal) && c.soft.Err() == nil {
		return "", err
	}
	if err != nil {
		return "", nil
	}
	return string(answer), nil
}

func (c *console) newInputs() input.Files {
	ctx := c.hard
	if ctx == nil {
		ctx = context.Background()
	}
	return input.NewFiles(ctx, c.waits)
}
