// Package terminal asks the operator at the terminal.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Question asks the operator at the terminal, even if standard input and output
// are redirected.
type Question struct {
	Text   string
	Hidden bool // do not show the typed answer
}

// ErrNoTerminal is the error of a question that cannot be asked, because the session of the program has no terminal.
var ErrNoTerminal = errors.New("there is no terminal to ask for it")

func openSession() (*os.File, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, ErrNoTerminal
	}
	return tty, nil
}

// CheckSession returns an error if the session of the program has no terminal, so that Ask would fail.
func CheckSession() error {
	tty, err := openSession()
	if err != nil {
		return errors.New("this session has no terminal")
	}
	_ = tty.Close() // nothing was written
	return nil
}

// maxAnswer is the largest size of an answer, in bytes.
const maxAnswer = 4096

// Ask returns the answer, which is one line. If one of the contexts ends, Ask
// returns its cause, so that Ctrl-C works during a question.
func (q Question) Ask(contexts ...context.Context) ([]byte, error) {
	tty, err := openSession()
	if err != nil {
		return nil, err
	}
	defer func() { _ = tty.Close() }()
	return q.AskAt(tty, contexts...)
}

// AskAt asks like Ask, at a terminal that is open already.
func (q Question) AskAt(tty *os.File, contexts ...context.Context) ([]byte, error) {
	if q.Hidden {
		show, err := hideTyping(tty)
		if err != nil {
			return nil, fmt.Errorf("hide typed text: %w", err)
		}
		defer show()
	}
	if !q.Hidden {
		forgetTyped(tty)
	}
	for _, ctx := range contexts {
		stop := context.AfterFunc(ctx, func() { _ = tty.SetReadDeadline(time.Unix(1, 0)) })
		defer stop()
	}
	if _, err := fmt.Fprint(tty, q.Text+" "); err != nil {
		return nil, err
	}
	answer, err := readLine(tty)
	if q.Hidden || err != nil {
		_, _ = fmt.Fprintln(tty) // the newline that the operator typed was not shown
	}
	for _, ctx := range contexts {
		if err != nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return answer, err
}

// forgetTyped drops input from before a question: it cannot be an answer. Without a terminal it does nothing.
func forgetTyped(tty *os.File) {
	if raw, err := tty.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = flushInput(int(fd)) })
	}
}

func readLine(f *os.File) ([]byte, error) {
	var answer []byte
	var b [1]byte
	for len(answer) < maxAnswer {
		n, err := f.Read(b[:])
		if n == 0 && err != nil {
			return nil, err
		}
		if b[0] == '\n' {
			return answer, nil
		}
		answer = append(answer, b[0])
	}
	return nil, errors.New("the answer is too long")
}

// hideTyping turns off the echo of the terminal until show is called. The file
// stays in a mode in which a deadline ends a read.
func hideTyping(tty *os.File) (show func(), err error) {
	raw, err := tty.SyscallConn()
	if err != nil {
		return nil, err
	}
	var was *unix.Termios
	err = errors.Join(raw.Control(func(fd uintptr) {
		if was, err = unix.IoctlGetTermios(int(fd), readTermios); err != nil {
			return
		}
		silent := *was
		silent.Lflag &^= unix.ECHO
		silent.Lflag |= unix.ICANON | unix.ISIG
		silent.Iflag |= unix.ICRNL
		err = unix.IoctlSetTermios(int(fd), writeTermios, &silent)
	}), err)
	if err != nil {
		return nil, err
	}
	return func() {
		_ = raw.Control(func(fd uintptr) { _ = unix.IoctlSetTermios(int(fd), writeTermios, was) })
	}, nil
}
