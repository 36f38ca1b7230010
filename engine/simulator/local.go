package simulator

import (
	"context"
	"errors"
	"strings"
	"time"

	"holdfast/engine/rollout"
)

// local runs the commands of the bastion. "drain" and "undrain" do so with the
// host, "disrupt" harms its etcd member, and commands of plays are logged.
// "false" fails, and all other commands succeed.
type local struct{ b *Bastion }

// Run runs a command.
func (l local) Run(ctx context.Context, command string, env []string) (reply rollout.Reply, err error) {
	c := Command{Text: command, Env: env}
	for _, e := range env {
		if host, ok := strings.CutPrefix(e, "HOLDFAST_HOST="); ok {
			c.Host = host
		}
	}
	err = l.b.deliverCall(ctx, Call{Verb: "local", Host: c.Host}, func(time.Time) error {
		l.b.mu.Lock()
		l.b.commands = append(l.b.commands, c)
		l.b.mu.Unlock()
		reply = l.b.obeyCommand(c)
		return nil
	})
	if errors.Is(err, errFails) {
		return rollout.Reply{Code: 1, Stderr: err.Error() + "\n"}, nil
	}
	if err == nil && l.b.Takes != nil {
		err = l.b.clock.Sleep(ctx, l.b.Takes(c))
	}
	if err == nil && l.b.Command != nil {
		if r := l.b.Command(c); r != nil {
			return *r, nil
		}
	}
	return reply, err
}

func (b *Bastion) obeyCommand(c Command) rollout.Reply {
	h := b.site.hosts[c.Host]
	switch c.Text {
	case "false":
		return rollout.Reply{Code: 1, Stderr: "false\n"}
	case PlainCommand, DisruptingCommand:
		b.law().CheckTask(&h.law, c.Text, c.Text == DisruptingCommand)
		b.site.addToLog("%s does %s for %s", b.ID, c.Text, h.Name)
	case "drain":
		b.law().CheckDrain(&h.law)
		b.site.addToLog("%s drains %s", b.ID, h.Name)
		h.drained = true
	case "disrupt":
		b.law().CheckHarm(&h.law)
		b.site.addToLog("%s disrupts %s", b.ID, h.Name)
	case "undrain":
		b.law().CheckOwn(&h.law, "undrained")
		b.site.addToLog("%s undrains %s", b.ID, h.Name)
		h.drained = false
	}
	return rollout.Reply{}
}

// Get returns the answer of the test's web server.
func (b *Bastion) Get(ctx context.Context, url string) (status int, body []byte, err error) {
	err = b.deliverCall(ctx, Call{Verb: "get"}, func(time.Time) error {
		if b.Answer == nil {
			return errors.New("connection refused")
		}
		s, text := b.Answer(url)
		status, body = s, []byte(text)
		return nil
	})
	return status, body, err
}
