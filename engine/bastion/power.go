package bastion

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/power"
	"holdfast/engine/textutil"
)

// PowerCommands is a power.Controller of commands of the inventory.
type PowerCommands struct {
	Commands Commands
	Host     engine.Host // with its PowerCommands
}

// powerTime bounds a command that reads or switches the power.
const powerTime = 10 * time.Second

func (p PowerCommands) run(ctx context.Context, name, command string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, powerTime, fmt.Errorf("it has not ended within %s", powerTime))
	defer cancel()
	reply, err := p.Commands.Run(ctx, command, []string{"HOLDFAST_HOST=" + p.Host.Name, "HOLDFAST_ADDRESS=" + p.Host.Address, "HOLDFAST_POOL=" + p.Host.Pool})
	if err == nil && reply.Code != 0 {
		err = fmt.Errorf("exit status %d: %s", reply.Code, textutil.Printable(p.Commands.Secrets.KeepTail(strings.TrimSpace(reply.Stderr), shownErrors)))
	}
	if err != nil {
		return "", fmt.Errorf("command %s of the power block: %w; run it by hand", name, err)
	}
	return reply.Stdout, nil
}

// State runs the command status. The commands offer to switch on, and off at once.
func (p PowerCommands) State(ctx context.Context) (power.State, error) {
	text, err := p.run(ctx, "status", p.Host.Power.Status)
	if err != nil {
		return power.State{}, err
	}
	s := power.State{Resets: []string{string(power.TurnOn), string(power.ForceOff)}}
	words := strings.Fields(text)
	if len(words) > 0 {
		s.Power = words[len(words)-1]
	}
	switch strings.ToLower(s.Power) {
	case "on":
		s.Power = power.On
	case "off":
		s.Power = power.Off
	default:
		const longest = 40
		word := p.Commands.Secrets.Hide(s.Power)
		return power.State{}, fmt.Errorf("command status of the power block: the last word of its output is %q, and not on or off; correct the command", word[:min(len(word), longest)])
	}
	return s, nil
}

// Reset runs the command on or off.
func (p PowerCommands) Reset(ctx context.Context, r power.Reset) (err error) {
	switch r {
	case power.TurnOn:
		_, err = p.run(ctx, "on", p.Host.Power.On)
	case power.ForceOff:
		_, err = p.run(ctx, "off", p.Host.Power.Off)
	default:
		err = fmt.Errorf("the power block has no command for %s", r)
	}
	return err
}

// bmcPasswordTime bounds password_command. With the time for its end and one call of the BMC, it is less than 30 s.
const bmcPasswordTime = 15 * time.Second

// ReadPassword returns the output of password_command. No error contains a part of its output.
func (b Commands) ReadPassword(ctx context.Context, command string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, bmcPasswordTime, fmt.Errorf("it has not ended within %s", bmcPasswordTime))
	defer cancel()
	reply, err := b.Run(ctx, command, nil)
	if err == nil && reply.Code != 0 {
		err = fmt.Errorf("exit status %d; run it by hand", reply.Code)
	}
	if err != nil {
		return nil, fmt.Errorf("password_command: %w", err)
	}
	return []byte(reply.Stdout), nil
}

var errCommandsOnly = errors.New("the power block has no command for it")

// SetRestorePolicy returns an error.
func (PowerCommands) SetRestorePolicy(context.Context, string) error { return errCommandsOnly }

// SetLight returns an error.
func (PowerCommands) SetLight(context.Context, bool) error { return errCommandsOnly }

// SetIndicator returns an error.
func (PowerCommands) SetIndicator(context.Context, string) error { return errCommandsOnly }
