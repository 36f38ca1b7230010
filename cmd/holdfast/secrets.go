package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"holdfast/engine"
)

// secrets gets passphrases and sudo passwords from where the inventory says,
// or from the person at the terminal, and asks for each only once.
type secrets struct {
	ask   bool // -K: ask for the sudo password
	soft  context.Context
	files map[string]engine.SSH

	mu    sync.Mutex // one question at a time
	known map[string][]byte
}

// newSecrets asks for the sudo password if -K was given: now, before there is
// anything else on the terminal and before a host waits for it.
func newSecrets(a *app, inv engine.Inventory) (*secrets, error) {
	s := &secrets{ask: a.askPass, soft: a.soft, files: map[string]engine.SSH{}, known: map[string][]byte{}}
	for _, h := range inv.Hosts {
		s.files[h.Name] = h.SSH
	}
	if !a.askPass {
		return s, nil
	}
	if _, err := s.BecomePassword(a.soft, ""); err != nil {
		return nil, fmt.Errorf("ask for the sudo password: %w", err)
	}
	return s, nil
}

// Passphrase asks for the passphrase of a key file.
func (s *secrets) Passphrase(ctx context.Context, keyfile string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return question{text: "Passphrase of " + keyfile + ":", hidden: true}.ask(ctx, s.soft)
}

// BecomePassword gives the sudo password for a host, or nil if there is none.
func (s *secrets) BecomePassword(ctx context.Context, host string) ([]byte, error) {
	ssh := s.files[host]
	switch {
	case s.ask: // a person's word counts more than the inventory's
		return s.once("terminal", func() ([]byte, error) { return question{text: "sudo password:", hidden: true}.ask(ctx, s.soft) })
	case ssh.BecomeFile != "":
		return s.once("file "+ssh.BecomeFile, func() ([]byte, error) { return os.ReadFile(ssh.BecomeFile) })
	case ssh.BecomeCommand != "":
		return s.once("command "+ssh.BecomeCommand, func() ([]byte, error) { return fromCommand(ctx, ssh.BecomeCommand) })
	}
	return nil, nil
}

// once gets a secret the first time and remembers its first line.
func (s *secrets) once(key string, get func() ([]byte, error)) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
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

// fromCommand runs the command that prints the sudo password. What it prints
// never becomes part of an error.
func fromCommand(ctx context.Context, command string) ([]byte, error) {
	cmd := shell(ctx, command)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("become_password_command: %w", err)
	}
	return out, nil
}
