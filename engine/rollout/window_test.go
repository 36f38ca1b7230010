package rollout_test

import (
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/simulator"
)

// Outside a window everything is staged and nothing is disrupted. Inside the
// window no batch begins that would not end in it, and the next run continues.
func TestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the clock of a synctest bubble begins at midnight UTC
		site := newSite(workerFleet(8, func(p *engine.Pool) {
			p.Windows = []engine.Window{{FromMinutes: 60, ToMinutes: 70}}
			p.BatchTakes = engine.Duration(6 * time.Minute)
		}))
		first := site.Bastion("run-1")
		failOnErrors(t, checkEnd(applyRun(first), engine.ExitRefused, "window", "01:00"), checkLaws(site))
		for _, h := range site.Hosts() {
			if st := h.State(); st.Staged != simulator.V2 || len(st.Reboots) > 0 {
				t.Errorf("%s is %+v", h.Name, st)
			}
		}
		time.Sleep(time.Until(time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC)))
		second := site.Bastion("run-2")
		failOnErrors(t, checkEnd(applyRun(second), engine.ExitRefused, "window"), checkLaws(site))
		want := 0
		for h, at := range rebootMinutes(second) {
			if want++; at > 5 {
				t.Errorf("%s went after %d minutes, and after 4 its batch does not fit into the window", h, at)
			}
		}
		if want == 0 || want == 8 {
			t.Errorf("%d hosts went within the window", want)
		}
	})
}
