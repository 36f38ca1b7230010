package bastion

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"holdfast/engine/textutil"
)

// filterTime bounds a filter.
const filterTime = time.Minute

// shownErrors bounds the end of standard error that an error shows, in bytes.
const shownErrors = 1000

// Filter runs a program in the inventory's folder, gives it an input, and returns the first megabyte of its output. No
// shell interprets the arguments. The error shows the end of its standard error.
func (b Commands) Filter(ctx context.Context, words []string, input []byte) ([]byte, error) {
	return b.runProgram(ctx, words, nil, input)
}

// Output is Filter without an input, and with more variables in the environment.
func (b Commands) Output(ctx context.Context, words, env []string) ([]byte, error) {
	return b.runProgram(ctx, words, append(os.Environ(), env...), nil)
}

// runProgram runs a program with an environment; nil is that of holdfast.
func (b Commands) runProgram(ctx context.Context, words, env []string, input []byte) ([]byte, error) {
	limit := cmp.Or(b.filterTime, filterTime)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it has not ended within %s", limit))
	defer cancel()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = b.Dir, env, bytes.NewReader(input)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var stdout, stderr bounded
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := runGroup(cmd, cmp.Or(b.grace, bastionGrace))
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(err, exec.ErrWaitDelay) && cmd.ProcessState.Success():
		err = nil
	}
	if err == nil {
		return stdout.Bytes(), nil
	}
	if text := strings.TrimSpace(b.Secrets.HideOutput(stderr.String(), stderr.cut)); text != "" {
		return nil, fmt.Errorf("%w: %s", err, textutil.Printable(b.Secrets.KeepTail(text, shownErrors)))
	}
	return nil, err
}
