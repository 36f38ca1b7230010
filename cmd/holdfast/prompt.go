package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// question asks the person at the terminal, whatever standard input and output
// are connected to.
type question struct {
	text   string
	hidden bool // what is typed is not shown
}

// maxAnswer bounds an answer in bytes.
const maxAnswer = 4096

// askOperator gives the answer, a line. It ends with the context's cause when any of
// the contexts does: a person who is asked must be able to leave with Ctrl-C.
func (q question) askOperator(contexts ...context.Context) ([]byte, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, errors.New("there is no terminal to ask for it")
	}
	defer func() { _ = tty.Close() }()
	return q.askAt(tty, contexts...)
}

func (q question) askAt(tty *os.File, contexts ...context.Context) ([]byte, error) {
	if q.hidden {
		show, err := hideTyping(tty)
		if err != nil {
			return nil, fmt.Errorf("hide what is typed: %w", err)
		}
		defer show()
	}
	if !q.hidden {
		forgetTyped(tty)
	}
	for _, ctx := range contexts {
		stop := context.AfterFunc(ctx, func() { _ = tty.SetReadDeadline(time.Unix(1, 0)) })
		defer stop()
	}
	if _, err := fmt.Fprint(tty, q.text+" "); err != nil {
		return nil, err
	}
	answer, err := readLine(tty)
	if q.hidden || err != nil {
		_, _ = fmt.Fprintln(tty) // the person's own was not shown
	}
	for _, ctx := range contexts {
		if err != nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return answer, err
}

// forgetTyped drops what was typed before a question: it cannot be meant as its
// answer. What is no terminal has nothing to drop.
func forgetTyped(tty *os.File) {
	if raw, err := tty.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = flushInput(int(fd)) })
	}
}

// readLine reads up to the end of a line, and no further.
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

// hideTyping keeps the terminal from showing what is typed, until show is called.
// The file stays in the mode that lets its deadline end a read.
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
