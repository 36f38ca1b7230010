package rollout_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/rollout"
)

// TestTwoNamesOfOneMachine: a name server sends the names of two hosts to one machine. The run changes neither, because it
// would update one machine twice, and the other not at all.
func TestTwoNamesOfOneMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(workerFleet(4, func(p *engine.Pool) { p.MaxUnavailable = engine.CountOrPercent{Count: 3, Set: true} }))
		b := site.Bastion("run-1")
		end := applyRun(b, func(r *rollout.Run) { r.Hosts = misledHosts{r.Hosts} })
		failOnErrors(t, checkEnd(end, engine.ExitUnreachable), checkLaws(site))
		if rebooted := rebootedHosts(b); !slices.Equal(rebooted, []string{"worker-0", "worker-3"}) {
			t.Errorf("the run rebooted %q", rebooted)
		}
		if text := findingsText(end); !strings.Contains(text, "the same machine answers for this host and for worker-1") {
			t.Errorf("nothing explains the exclusion:\n%s\n%s", text, runTranscript(b))
		}
	})
}

// misledHosts connects to worker-1 under the name of worker-2.
type misledHosts struct{ rollout.Hosts }

func (m misledHosts) Connect(ctx context.Context, h engine.Host) (rollout.Conn, error) {
	if h.Name == "worker-2" {
		h.Name = "worker-1"
	}
	return m.Hosts.Connect(ctx, h)
}
