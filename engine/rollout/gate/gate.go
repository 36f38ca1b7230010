// Package gate asks gates: questions outside of holdfast that must get a good
// answer before a run goes on. It repeats a question until it has enough good
// answers in a row, too many bad answers, or a timeout. Package rollout decides
// which gates are asked, when, and about which hosts.
package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// interval is the default time between two questions to a gate.
const interval = engine.Duration(5 * time.Second)

// Asker asks gates through its ports.
type Asker struct {
	Commands Commands
	Web      Web
	Sleep    func(context.Context, time.Duration) error // lets time pass between two questions
	Secrets  textutil.Secrets
}

// Commands runs the commands of gates. An error means that the command has no
// exit status.
type Commands interface {
	RunOnHost(context.Context, Subject, engine.Gate) (engine.Output, error)
	RunOnBastion(context.Context, Subject, engine.Gate) (engine.Output, error)
}

// Web asks web servers from the bastion.
type Web interface {
	// Get returns the status and the beginning of the body. The error is about
	// the connection.
	Get(ctx context.Context, url string) (status int, body []byte, err error)
}

// AsksHosts reports whether a gate is about a host, so that it is asked once
// for each host.
func AsksHosts(g engine.Gate) bool {
	text := ""
	switch {
	case g.HostCommand != "":
		return true
	case g.HTTP != nil:
		text = g.HTTP.URL
	case g.PromQL != nil:
		text = g.PromQL.Query
	}
	return strings.Contains(text, "{host}") || strings.Contains(text, "{address}")
}

// AskUntilGood asks a gate about a subject until the answers are good.
// Meanwhile it reports changes of the answer. It returns a failure if the
// answers stay bad, and the cause of the context's end if the context was
// canceled. It ignores an answer that the timeout interrupts.
func (k Asker) AskUntilGood(ctx context.Context, about Subject, g engine.Gate, report func(string)) error {
	t := tally{gate: g, report: report}
	for ctx.Err() == nil {
		a := k.askOnce(ctx, about, g)
		if !a.isGood() && ctx.Err() != nil {
			if t.last.isGood() && t.inRow == 0 {
				t.last = answer{problem: "no answer until then", command: a.command, stderr: a.stderr}
			}
			break
		}
		if done, err := t.countAnswer(a); done || err != nil {
			return err
		}
		if k.Sleep(ctx, time.Duration(cmp.Or(g.Interval, interval))) != nil {
			break
		}
	}
	cause := context.Cause(ctx)
	if errors.Is(ctx.Err(), context.Canceled) {
		return cause
	}
	return t.last.toFailure(strings.Join(t.timeoutReasons(cause.Error()), "; "))
}

func (k Asker) askOnce(ctx context.Context, about Subject, g engine.Gate) answer {
	a := k.askPort(ctx, about, g)
	a.stderr, a.detail = k.Secrets.KeepTail(a.stderr, mostStderr), k.Secrets.HideOutput(a.detail, false) // before anything cuts them
	return a
}

func (k Asker) askPort(ctx context.Context, about Subject, g engine.Gate) answer {
	switch {
	case g.HostCommand != "":
		return k.askHost(ctx, about, g)
	case g.HTTP != nil:
		return k.askWeb(ctx, about, *g.HTTP)
	case g.PromQL != nil:
		return k.askPrometheus(ctx, about, *g.PromQL)
	}
	return k.askBastion(ctx, about, g)
}

func (k Asker) askBastion(ctx context.Context, about Subject, g engine.Gate) answer {
	out, err := k.Commands.RunOnBastion(ctx, about, g)
	a := answer{command: g.Command, stderr: out.Stderr, detail: k.Secrets.KeepTail(out.Stderr, mostStderr)}
	switch {
	case err != nil:
		a.problem = err.Error()
	case out.Code != 0:
		a.problem = fmt.Sprintf("exit status %d", out.Code)
	default:
		return answer{command: g.Command}
	}
	return a
}

func (k Asker) askHost(ctx context.Context, about Subject, g engine.Gate) answer {
	out, err := k.Commands.RunOnHost(ctx, about, g)
	switch {
	case err != nil:
		return answer{problem: "the host does not answer", detail: err.Error(), command: g.HostCommand, stderr: out.Stderr, lost: true}
	case out.Code != 0:
		return answer{problem: fmt.Sprintf("exit status %d", out.Code), detail: cmp.Or(strings.TrimSpace(out.Stderr), out.Stdout), command: g.HostCommand, stderr: out.Stderr}
	}
	return answer{command: g.HostCommand}
}
