package sshtest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
)

func (s *Server) serveSession(n ssh.NewChannel) {
	time.Sleep(s.config.LateSession)
	channel, requests, err := n.Accept()
	if err != nil {
		return
	}
	now := s.open.Add(1)
	defer s.open.Add(-1)
	for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
	defer func() { _ = channel.Close() }()
	for r := range requests {
		if r.Type != "exec" {
			_ = r.Reply(false, nil)
			continue
		}
		var command struct{ Line string }
		if err := ssh.Unmarshal(r.Payload, &command); err != nil {
			_ = r.Reply(false, nil)
			continue
		}
		s.sessions.Add(1)
		_ = r.Reply(true, nil)
		s.runCommand(channel, requests, command.Line)
		return
	}
}

func (s *Server) runCommand(channel ssh.Channel, requests <-chan *ssh.Request, line string) {
	if s.config.Exec != nil {
		s.startWork(func() { ssh.DiscardRequests(requests) })
		exitStatus(channel, s.config.Exec(line, channel, channel, channel.Stderr()))
		return
	}
	cmd := exec.Command(s.config.Shell[0], append(s.config.Shell[1:len(s.config.Shell):len(s.config.Shell)], line)...)
	cmd.Dir, cmd.Env = s.Dir, s.sessionEnv()
	cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = s.startCommand(cmd)
	}
	if err != nil {
		_, _ = fmt.Fprintln(channel.Stderr(), err)
		exitStatus(channel, 127)
		return
	}
	var input io.Reader = channel
	if s.config.Input != nil {
		input = s.config.Input(channel)
	}
	s.startWork(func() {
		_, _ = io.Copy(stdin, input)
		_ = stdin.Close()
	})
	s.startWork(func() { forwardSignals(requests, cmd.Process.Pid) })
	err = cmd.Wait()
	s.forgetCommand(cmd.Process.Pid)
	sendExit(channel, cmd.ProcessState, err)
}

func (s *Server) sessionEnv() []string {
	sudo := s.config.Sudo
	if sudo == "" {
		sudo = "nopasswd"
	}
	env := []string{"PATH=" + filepath.Join(s.Dir, "bin") + ":" + filepath.Join(s.Dir, "tools"), "HOME=" + s.Dir, "USER=" + s.config.User, "SSHTEST_SUDO=" + sudo}
	return append(env, s.config.Env...)
}

func forwardSignals(requests <-chan *ssh.Request, pid int) {
	for r := range requests {
		var sent struct{ Name string }
		if r.Type == "signal" && ssh.Unmarshal(r.Payload, &sent) == nil && sent.Name == "TERM" {
			_ = syscall.Kill(-pid, syscall.SIGTERM)
		}
		if r.WantReply {
			_ = r.Reply(false, nil)
		}
	}
}

func sendExit(channel ssh.Channel, state *os.ProcessState, err error) {
	status, ok := state.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		name := strings.TrimPrefix(signalNames[status.Signal()], "SIG")
		_, _ = channel.SendRequest("exit-signal", false, ssh.Marshal(struct {
			Name    string
			Core    bool
			Message string
			Lang    string
		}{Name: name}))
		return
	}
	code := state.ExitCode()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && code == 0 {
		return // the client has disconnected: the output could not be sent
	}
	exitStatus(channel, code)
}

func exitStatus(channel ssh.Channel, code int) {
	_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{uint32(code)}))
}

var signalNames = map[syscall.Signal]string{
	syscall.SIGTERM: "SIGTERM", syscall.SIGKILL: "SIGKILL", syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT",
	syscall.SIGPIPE: "SIGPIPE", syscall.SIGSEGV: "SIGSEGV", syscall.SIGABRT: "SIGABRT",
}

func (s *Server) startCommand(cmd *exec.Cmd) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.New("server closed")
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.groups[cmd.Process.Pid] = struct{}{}
	return nil
}

func (s *Server) forgetCommand(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.groups, pid)
}

func (s *Server) killAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for pid := range s.groups {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}
