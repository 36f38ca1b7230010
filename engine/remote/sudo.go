package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// sudo holds the password for one host.
type sudo struct {
	mu       chan struct{} // a mutex for the other fields, as a channel: the end of a context ends the wait for it
	asked    bool
	password []byte
	err      error
}

func newSudo() *sudo { return &sudo{mu: make(chan struct{}, 1)} }

func (s *sudo) knownPassword(ctx context.Context) ([]byte, error) {
	select {
	case s.mu <- struct{}{}:
		defer func() { <-s.mu }()
		return s.password, s.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *sudo) askPassword(ctx context.Context, h *Host) ([]byte, error) {
	select {
	case s.mu <- struct{}{}:
		defer func() { <-s.mu }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if s.asked {
		return s.password, s.err
	}
	password, err := h.dialer.opts.Secrets.BecomePassword(ctx, h.ep.Name)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if bytes.ContainsAny(password, "\n\x00") {
		password, err = nil, errors.New("the password contains a line break or a NUL byte")
	}
	if err == nil && password != nil {
		// Try the password once before other commands use it, because several commands with a wrong password could lock
		// the account.
		_, err = h.executeCommand(ctx, Command{Script: ":", MaxOutput: defaultMaxOutput}, linePassword, password)
		if k := KindOf(err); err != nil && k != SudoPassword && k != NoSudo {
			return nil, err
		}
	}
	s.asked, s.password, s.err = true, bytes.Clone(password), err
	return s.password, s.err
}

var errPasswordNeeded = errors.New("sudo wants a password")

// startError explains why a script did not start, from the exit status and the output of the login shell or sudo. It
// recognizes the messages of sudo 1.8, sudo 1.9 and sudo-rs in the C locale.
func (x *execution) startError(code int) error {
	said, _ := x.err.printedBefore()
	said = strings.ReplaceAll(said, passwordPrompt, "")
	said = strings.TrimSpace(strings.ReplaceAll(said, launcher, "…")) // sudo repeats the refused command
	ep, step := x.host.ep, "become root with sudo"
	if !x.become {
		step = "start a shell as " + ep.UserAndAddress()
		out, _ := x.out.printedBefore()
		return ep.newError(NoShell, step, fmt.Errorf("it ended with status %d before the script started: %s", code, oneLine(said+" "+out)),
			"check that the account has a login shell, and that the host has env and sh")
	}
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(said, w) {
				return true
			}
		}
		return false
	}
	switch {
	case has("not in the sudoers file", "not allowed to", "I'm afraid I can't do that", "may not run sudo"):
		return ep.newError(NoSudo, step, fmt.Errorf("%s may not: %s", ep.User, oneLine(said)), "allow it in sudoers: "+ep.User+" ALL=(ALL) ALL")
	case x.wrongPassword:
		return ep.newError(SudoPassword, step, fmt.Errorf("the password of %s is wrong: %s", ep.User, oneLine(said)), "")
	case has("a password is required", "terminal is required", "authentication is required"):
		return ep.newError(SudoPassword, step, errPasswordNeeded,
			"give the password with -K, become_password_file or become_password_command, or allow sudo without a password in sudoers: "+ep.User+" ALL=(ALL) NOPASSWD: ALL")
	case code == 127 && has("sudo"):
		return ep.newError(NoSudo, step, fmt.Errorf("there is no sudo: %s", oneLine(said)), "install it, or log in as root")
	case has("must have a tty"):
		return ep.newError(NoSudo, step, fmt.Errorf("it wants a terminal: %s", oneLine(said)), "remove requiretty from sudoers")
	}
	return ep.newError(NoSudo, step, fmt.Errorf("it ended with status %d: %s", code, oneLine(said)), "")
}

// answerPrompt sends the password when sudo prompts, and reports whether the script runs afterwards. A second prompt
// means that the password is wrong. The caller then ends the input, so that sudo does not prompt again.
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
