package bastion

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"holdfast/engine"
	"holdfast/engine/input"
)

// Secrets reads passphrases and sudo passwords from the sources in the
// inventory, or asks the operator at the terminal. It gets each sudo password
// only once, and remembers no passphrase.
type Secrets struct {
	ask   bool                                                   // -K: ask for the sudo password
	query func(ctx context.Context, text string) ([]byte, error) // asks the operator without showing the answer
	files map[string]engine.SSH
	in    input.Files
	limit time.Duration // of become_password_command; 0: passwordTime

	turn  chan struct{} // one question at a time
	known map[string][]byte
}

// Timeouts of become_password_command: to run, and to end after SIGTERM.
const (
	passwordTime  = time.Minute
	passwordGrace = time.Second
)

// NewSecrets returns the secrets of a site. query asks the operator.
func NewSecrets(inv engine.Inventory, in input.Files, query func(ctx context.Context, text string) ([]byte, error)) *Secrets {
	s := &Secrets{query: query, files: map[string]engine.SSH{}, in: in, turn: make(chan struct{}, 1), known: map[string][]byte{}}
	for _, h := range inv.Hosts {
		s.files[h.Name] = h.SSH
	}
	return s
}

// AskBecomePassword asks for the sudo password of all hosts, which takes
// precedence over the inventory.
func (s *Secrets) AskBecomePassword(ctx context.Context) error {
	s.ask = true
	if _, err := s.BecomePassword(ctx, ""); err != nil {
		return fmt.Errorf("ask for the sudo password: %w", err)
	}
	return nil
}

// Passphrase asks for the passphrase of a key file.
func (s *Secrets) Passphrase(ctx context.Context, keyfile string) ([]byte, error) {
	if err := s.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer s.endTurn()
	return s.query(ctx, "Passphrase of "+keyfile+":")
}

// BecomePassword returns the sudo password for a host, or nil if there is none.
func (s *Secrets) BecomePassword(ctx context.Context, host string) ([]byte, error) {
	ssh := s.files[host]
	switch {
	case s.ask: // -K takes precedence over the inventory
		return s.rememberSecret(ctx, "terminal", func() ([]byte, error) { return s.query(ctx, "sudo password:") })
	case ssh.BecomePasswordFile != "":
		return s.rememberSecret(ctx, "file "+ssh.BecomePasswordFile, func() ([]byte, error) {
			text, err := s.in.ReadFile(ssh.BecomePasswordFile)
			if err != nil {
				err = fmt.Errorf("become_password_file: %w; put it on the bastion, or name another file", err)
			}
			return text, err
		})
	case ssh.BecomePasswordCommand != "":
		return s.rememberSecret(ctx, "command "+ssh.BecomePasswordCommand, func() ([]byte, error) { return s.runPasswordCommand(ctx, ssh.BecomePasswordCommand) })
	}
	return nil, nil
}

func (s *Secrets) takeTurn(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Secrets) endTurn() { <-s.turn }

// rememberSecret returns the first line of a secret. It calls get only once for
// each key.
func (s *Secrets) rememberSecret(ctx context.Context, key string, get func() ([]byte, error)) ([]byte, error) {
	if err := s.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer s.endTurn()
	if v, ok := s.known[key]; ok {
		return v, nil
	}
	v, err := get()
	if err != nil {
		return nil, err
	}
	line, _, _ := bytes.Cut(v, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) == 0 {
		return nil, errors.New("the sudo password is empty")
	}
	s.known[key] = line
	return line, nil
}

// runPasswordCommand runs the command that prints the sudo password. The output
// of the command never becomes part of an error. The command has no terminal,
// and a session of its own, so that all its processes can be ended.
func (s *Secrets) runPasswordCommand(ctx context.Context, command string) ([]byte, error) {
	defer s.in.Begin("running become_password_command")()
	limit := cmp.Or(s.limit, passwordTime)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it has not ended within %s", limit))
	defer cancel()
	cmd := shellCommand(ctx, command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stderr = os.Stderr
	var out bounded
	cmd.Stdout = &out
	err := runGroup(cmd, passwordGrace)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("become_password_command: %w", err)
	}
	return out.Bytes(), nil
}
