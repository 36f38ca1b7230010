package power

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdfast/engine"
)

// TestOnlyWhatWasAskedFor draws states of a host. Only resets that its controller offers are sent, none of them switches the power
// the other way, a shutdown gets its time, and only a host that is on is reset.
func TestOnlyWhatWasAskedFor(t *testing.T) {
	ours := map[engine.PowerTarget][]Reset{
		engine.PowerOn: {TurnOn, ForceOn}, engine.PowerOff: {GracefulShutdown, ForceOff}, engine.PowerReset: {ForceRestart},
	}
	rapid.Check(t, func(t *rapid.T) {
		s := engine.SwitchPower{
			To:       rapid.SampledFrom([]engine.PowerTarget{engine.PowerOn, engine.PowerOff, engine.PowerReset}).Draw(t, "to"),
			Graceful: engine.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "graceful")),
			Ordered:  rapid.Bool().Draw(t, "ordered"),
			WaitOnly: rapid.Bool().Draw(t, "wait only"),
		}
		now := State{
			Power:  rapid.SampledFrom([]string{On, Off, "PoweringOn", "PoweringOff", "Paused"}).Draw(t, "power"),
			Resets: rapid.SliceOfDistinct(rapid.SampledFrom([]string{"On", "ForceOn", "GracefulShutdown", "ForceOff", "ForceRestart", "PowerCycle", "PushPowerButton"}), rapid.ID[string]).Draw(t, "resets"),
		}
		p := progress{sent: rapid.SampledFrom(append([]Reset{""}, ours[s.To]...)).Draw(t, "sent"), waited: time.Duration(rapid.Int64Range(0, int64(2*time.Hour)).Draw(t, "waited"))}
		send, done, err := chooseReset(s, now, p)
		switch {
		case send != "" && (done || err != nil):
			t.Fatalf("%s is sent, and done is %t, the error %v", send, done, err)
		case send != "" && !slices.Contains(now.Resets, string(send)):
			t.Fatalf("%s is sent, which the controller does not offer", send)
		case send != "" && !slices.Contains(ours[s.To], send):
			t.Fatalf("%s is sent, to get the power to %s", send, s.To)
		case send != "" && s.To == engine.PowerOff && s.WaitOnly:
			t.Fatalf("%s is sent, and the host must go off by itself", send)
		case s.To == engine.PowerOff && s.WaitOnly && now.Power != Off && (err != nil) != (p.waited >= time.Duration(s.Graceful)):
			t.Fatalf("after %s of %s: %v", p.waited, s.Graceful, err)
		case send == ForceRestart && now.Power != On:
			t.Fatalf("a host with the power %s is reset", now.Power)
		case send == GracefulShutdown && s.Ordered:
			t.Fatal("a host that shuts down is asked to shut down")
		case send == ForceOff && (p.sent == GracefulShutdown || p.sent == "" && s.Ordered) && p.waited < time.Duration(s.Graceful):
			t.Fatalf("the power is cut %s after the shutdown was asked for, and not %s", p.waited, s.Graceful)
		case done && s.To == engine.PowerOn && now.Power != On, done && s.To == engine.PowerOff && now.Power != Off:
			t.Fatalf("done, and the power is %s", now.Power)
		}
	})
}
