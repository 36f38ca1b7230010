package kubernetes

import (
	"fmt"
	"os"
	"os/exec"
	"sync"

	"golang.org/x/sys/unix"
)

// program is one process of the control plane.
type program struct {
	name  string
	path  string
	flags []string
	log   string

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{}
}

func newProgram(c Config, name string, flags ...string) *program {
	return &program{name: name, path: c.Programs.path(name), flags: flags, log: c.Folder.path(name + ".log")}
}

func (p *program) startProcess(more []string) error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	defer func() { _ = log.Close() }()                       // the process has its own
	cmd := exec.Command(p.path, append(p.flags, more...)...) //nolint:noctx // endProcess ends it
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		close(done)
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd, p.done = cmd, done
	return nil
}

func (p *program) isRunning() bool { return p.findProcess() != nil }

// findProcess returns the process, or nil if it does not run.
func (p *program) findProcess() *os.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return nil
	}
	select {
	case <-p.done:
		return nil
	default:
		return p.cmd.Process
	}
}

// endProcess kills the process: an API server that is asked to end lives for minutes while clients follow objects.
func (p *program) endProcess() {
	if process := p.findProcess(); process != nil {
		_ = process.Kill() // it may have ended
		<-p.done
	}
}

func (p *program) sendSignal(s os.Signal) error {
	process := p.findProcess()
	if process == nil {
		return fmt.Errorf("%s does not run", p.name)
	}
	return process.Signal(s)
}
