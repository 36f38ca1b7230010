package remote

import (
	"errors"
	"io"
)

// writeInput writes what goes to the session's standard input: sudo's password when it asks for it, the script, the data. ended is
// closed when nobody reads it any more.
func (x *execution) writeInput(w io.WriteCloser, ended <-chan struct{}) {
	defer func() { _ = w.Close() }() // end of input
	if x.password != nil && !x.answerPrompt(w, ended) {
		return
	}
	if _, err := w.Write(x.command.encodeScript()); err != nil || x.command.Stdin == nil {
		return // the session's end says why
	}
	// Data waits for the script, because a sudo that wants a password means that all of it is sent again.
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

// answerPrompt gives sudo the password when it asks, and reports whether the script runs then. A second prompt means that the password
// is wrong: end of input keeps sudo from asking on.
func (x *execution) answerPrompt(w io.Writer, ended <-chan struct{}) bool {
	for asked := false; ; asked = true {
		select {
		case <-x.running:
			return true
		case <-ended:
			return false
		case <-x.prompts:
		}
		if asked {
			x.wrongPassword = true
			return false
		}
		if _, err := w.Write(append(x.password[:len(x.password):len(x.password)], '\n')); err != nil {
			return false
		}
	}
}

// abortInput closes a session whose data could not be read, before the end of input can be taken for the end of the data.
func (x *execution) abortInput() {
	x.mu.Lock()
	defer x.mu.Unlock()
	_ = x.session.Close()
}

// scriptInput remembers why reading ended, unless the session had ended before.
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
		case <-i.ended: // closed because nobody wants it
		default:
			i.err = err
		}
	}
	return n, err
}
