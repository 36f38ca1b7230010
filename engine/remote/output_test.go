package remote

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// FuzzOutput splits a stream anywhere, and checks that the output before the script, sudo's prompts and the script's
// output stay apart.
func FuzzOutput(f *testing.F) {
	f.Add("welcome\n"+passwordPrompt+"Sorry, try again.\n"+passwordPrompt, "out\n", uint8(3))
	f.Add("", readyWord+"\n"+passwordPrompt, uint8(1))
	f.Add(strings.Repeat("noise", 40_000), strings.Repeat("x", 3000), uint8(200))
	f.Fuzz(func(t *testing.T, noise, said string, step uint8) {
		if strings.Contains(noise, readyWord) {
			t.Skip()
		}
		var ready, prompts int
		o := output{
			allowance: &allowance{limit: 1000, budget: newBudget(0), ctx: t.Context()},
			onReady:   func() { ready++ }, onPrompt: func() { prompts++ },
		}
		all := []byte(noise + readyWord + "\n" + said)
		cut := false
		for len(all) > 0 && !cut {
			n := min(int(step)+1, len(all))
			got, err := o.Write(all[:n])
			if cut = errors.As(err, &tooMuchOutput{}); got != n && !cut {
				t.Fatal(got, err)
			}
			all = all[n:]
		}
		if cut != (len(said) > 1000 || len(noise) > maxAhead) {
			t.Errorf("cut %t after %d bytes before and %d of the script", cut, len(noise), len(said))
		}
		if kept := o.closeOutput(); !strings.HasPrefix(said, kept) || !cut && kept != said {
			t.Errorf("kept %.50q (%d)", kept, len(kept))
		}
		if asked := strings.Count(noise, passwordPrompt); ready != 1 || len(noise) < maxNoise/2 && prompts != asked {
			t.Errorf("%d starts, %d prompts of %d", ready, prompts, asked)
		}
	})
}

func TestKinds(t *testing.T) {
	for k := Unreachable; k <= Config; k++ {
		if s := k.String(); s == "" || strings.HasPrefix(s, "kind") {
			t.Errorf("kind %d has no name", int(k))
		}
	}
	if (Config+1).String() != fmt.Sprintf("kind %d", int(Config)+1) || Kind(0).String() != "kind 0" {
		t.Error((Config + 1).String(), Kind(0))
	}
	e := &Error{Host: "h1", Step: "say", Err: errClosed, Hint: "evil\x1b[2J\nline"}
	if got := e.Error(); got != `h1: say: the connection was closed here; evil\x1b[2J line` {
		t.Errorf("%q", got)
	}
}
