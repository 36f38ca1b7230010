package simulator

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/rollout"
)

// A setting whose word has "login" touches the way of the run's account into the
// host. One whose word has "lockout" takes it: no new connection succeeds while the
// setting is on disk. Open connections stay.

func touchesLogin(word string) bool {
	return locksOut(word) || slices.Contains(strings.Split(word, "-"), "login")
}

func locksOut(word string) bool { return slices.Contains(strings.Split(word, "-"), "lockout") }

// probationLimit is how long a host waits for a new login.
const probationLimit = 150 * time.Second

// probation is a write that the host undoes unless a new login confirms it.
type probation struct {
	run   string
	was   setting // before the write
	until time.Time
}

var errRefused = errors.New("login refused: no key is accepted")

// Login runs a script on a new connection.
func (b *Bastion) Login(ctx context.Context, h engine.Host, s rollout.Script) (rollout.Reply, error) {
	if b.hasState(ended) {
		return rollout.Reply{}, errKilled
	}
	host, err := b.site.hosts[h.Name], error(nil)
	b.site.withLock(func(time.Time) {
		switch {
		case !host.up || host.cut:
			err = errLost
		case locksOut(host.setting.disk):
			err = errRefused
		}
	})
	if err != nil {
		return rollout.Reply{}, err
	}
	return conn{b, host}.Run(ctx, s)
}

// mayConnect reports whether the bastion has a connection to the host since its last
// boot, or can open one. The caller holds the lock of the site.
func (b *Bastion) mayConnect(h *Host) bool {
	if b.connected == nil {
		b.connected = map[string]int{}
	}
	if locksOut(h.setting.disk) && b.connected[h.Name] != h.boot {
		return false
	}
	b.connected[h.Name] = h.boot
	return true
}

func (h *Host) undoProbation() {
	writes := h.setting.writes
	h.setting, h.probation = h.probation.was, nil
	h.setting.writes = writes
	h.site.addToLog("%s undoes its setting", h.Name)
}

// confirmProbation is the script of a new login.
func (h *Host) confirmProbation(text string) rollout.Reply {
	_, run := parseOrder(text)
	if h.probation == nil || h.probation.run != run {
		if h.proved == run {
			return rollout.Reply{}
		}
		return rollout.Reply{Code: hostscript.ScriptCannot, Stderr: "write: the host has undone the write\n"}
	}
	h.probation, h.proved = nil, run
	return rollout.Reply{}
}

func (h *Host) undoScript(text string) rollout.Reply {
	_, run := parseOrder(text)
	if h.proved == run {
		return rollout.Reply{}
	}
	if h.probation != nil && h.probation.run == run {
		h.undoProbation()
	}
	return rollout.Reply{Code: hostscript.ScriptCannot, Stderr: "write: all was put back\n"}
}

// withProof returns a step that writes a setting, and after it the login that proves
// the setting, if it needs one.
func withProof(t engine.Target, write engine.Step, word string) []engine.Step {
	if !touchesLogin(word) {
		return []engine.Step{write}
	}
	write.Do.Exec.Probation = true
	return []engine.Step{write, {
		Name: "prove login", On: t.Host.Name, Timeout: engine.Duration(2 * time.Minute),
		Do: engine.Op{ProveLogin: &engine.ProveLogin{Confirm: engine.NewScript(orderStart + "confirm " + t.Run), Undo: engine.NewScript(orderStart + "undo " + t.Run)}},
	}}
}
