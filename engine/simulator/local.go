package simulator

import (
	"context"
	"errors"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/journal"
	"holdfast/engine/rollout"
)

// local runs the commands of the bastion. "drain" and "undrain" drain and undrain
// a host. "drain", "undrain", "disrupt" and the commands of plays check that the
// laws allow them now. "false" fails. All other commands succeed, unless a fault
// or Bastion.Command decides otherwise.
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

// Get returns the answer of Bastion.Answer, which stands for all web servers.
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

// Machine is the machine of a bastion. Package journal keeps the journals of all
// its runs, and the lock of the site, in its folder Dir on a real file system.
type Machine struct {
	Dir string

	// NoLock lets a run begin although another run has the lock, so that a test
	// can check which law this breaks.
	NoLock bool
}

// Apply carries out a run of the bastion as the command apply does: it takes the
// lock of the site, and tells the run which holds dead runs have left. If another
// run of the machine has the lock, the run does not begin, and the error is a
// *journal.BusyError, unless NoLock is set. Apply releases the lock when the run
// ends. It does so for a killed run, too, because then the kernel would do it.
func (m Machine) Apply(ctx context.Context, b *Bastion, r *rollout.Run) (event.RunEnd, error) {
	self := engine.HoldOwner{Run: r.ID, Bastion: r.Start.Bastion}
	left, unlock, err := journal.EnterSite(m.Dir, r.Inventory.Site, self, journal.LockInfo{Run: r.ID, Holder: r.Start.Holder, Since: b.clock.Now()})
	if busy := new(journal.BusyError); m.NoLock && errors.As(err, &busy) {
		var runs []journal.Run
		runs, err = journal.ListRuns(m.Dir)
		left, unlock = journal.SummarizeRuns(runs, r.Inventory.Site, self), func() {}
	}
	if err != nil {
		return event.RunEnd{}, err
	}
	defer unlock()
	takeLeftovers(r, left)
	written, err := journal.Create(m.Dir, r.ID)
	if err != nil {
		return event.RunEnd{}, err
	}
	defer func() { _ = written.Close() }()
	b.Journal = written.Emit
	return b.Apply(ctx, r), nil
}
