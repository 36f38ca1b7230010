package remote

import (
	"errors"
	"io"
)

// writeInput writes the session's standard input: sudo's password at its prompt, the script, the data. ended is closed when the
// input is no longer read.
func (x *execution) writeInput(w io.WriteCloser, ended <-chan struct{}) {
	defer func() { _ = w.Close() }() // end of input
	if x.password != nil && !x.answerPrompt(w, ended) {
		return
	}
	if _, err := w.Write(x.command.encodeScript()); err != nil || x.command.Stdin == nil {
		return // the end of the session has the cause
	}
	// Data waits for the script: if sudo wants a password, everything is sent again.
	select {
	case <-x.running:
	case <-ended:
		return
	}
	in := &scriptInput{r: x.command.Stdin, ended: ended}
	_, _ = io.Copy(w, in)
	if in.err != nil {
		x.inputErr = in.err
		x.abortInput()
	}
}

// abortInput closes a session whose data could not be read, before the end of input looks like the end of the data.
func (x *execution) abortInput() {
	x.mu.Lock()
	defer x.mu.Unlock()
	_ = x.session.Close()
}

// scriptInput keeps the error of reading, unless the session ended before.
type scriptInput struct {
	r     io.Reader
	ended <-chan struct{}
	err   error
}

// Read reads from the caller's reader.
func (i *scriptInput) Read(p []byte) (int, error) {
	n, err := i.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		select {
		case <-i.ended: // closed by Run
		default:
			i.err = err
		}
	}
	return n, err
}
