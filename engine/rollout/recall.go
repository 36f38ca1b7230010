package rollout

import (
	"context"
	"time"

	"github.com/sourcegraph/conc/pool"

	"holdfast/engine"
	"holdfast/engine/hold"
	"holdfast/engine/textutil"
)

// recallHolds adds the last hold to the facts of hosts that were not reached, with the power that their controllers report.
func (g *gatherer) recallHolds(ctx context.Context, facts map[string]engine.Facts) {
	if g.Holds == nil {
		return
	}
	g.Holds.Recall(facts)
	workers := pool.New().WithMaxGoroutines(g.forkCount(gatherForks))
	for _, f := range facts {
		if h, ok := g.Inventory.Host(f.Host); ok && f.LastHold != nil && g.Power != nil && (h.BMC != nil || h.Power != nil) {
			workers.Go(func() { f.LastHold.Power = g.readPower(ctx, h) })
		}
	}
	workers.Wait()
}

// maxPowerWord is the number of bytes of a word of a controller that is shown.
const maxPowerWord = 40

// readPower returns "" if the controller does not tell.
func (g *gatherer) readPower(ctx context.Context, h engine.Host) string {
	if known, ok := g.powers.Load(h.Name); ok {
		return known.(string)
	}
	state, err := g.Power.Read(ctx, h)
	if err != nil {
		state.Power = ""
	}
	word := g.cutWord(state.Power)
	g.powers.Store(h.Name, word)
	return word
}

// cutWord returns a word of a controller that may be shown.
func (a hostAccess) cutWord(word string) string {
	word = textutil.Printable(a.Secrets.Hide(word))
	return word[:min(len(word), maxPowerWord)]
}

// recallReadings is recallHolds for holds that were read without other facts.
func (m *maintainer) recallReadings(ctx context.Context, list []hold.Reading) {
	facts := make(map[string]engine.Facts, len(list))
	for _, r := range list {
		facts[r.Facts.Host] = r.Facts
	}
	m.gatherer.recallHolds(ctx, facts)
	for i, r := range list {
		list[i].Facts = facts[r.Facts.Host]
	}
}

// rememberHold remembers a hold that was written a moment ago. If h is nil, the hold was ended.
func (a hostAccess) rememberHold(host string, h *engine.Hold, lasts engine.Duration) {
	if a.Holds == nil {
		return
	}
	if h != nil {
		now, clone := a.Clock.Now().UTC(), *h
		if clone.Renewed = now; clone.Acquired.IsZero() {
			clone.Acquired = now
		}
		if lasts == engine.KeepEnd {
			lasts = 0
		} else {
			clone.Expires = time.Time{}
		}
		if lasts > 0 {
			clone.Expires = now.Add(time.Duration(lasts))
		}
		h = &clone
	}
	a.Holds.Recall(map[string]engine.Facts{host: {Host: host, Hold: h}})
}
