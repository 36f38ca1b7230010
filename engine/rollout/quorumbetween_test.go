package rollout_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/event"
)

// TestQuorumBeforeEachAction: another member fails during the first action on a member. The second action, which could cost
// the cluster its quorum, does not begin.
func TestQuorumBeforeEachAction(t *testing.T) {
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			site := siteWanting(3, 0, "none-1")
			site.Want("etcd-1", "reload-restart-2")
			s := failureWorld{Site: site, run: site.Bastion("run-1")}
			if fails {
				s.doAtStep("etcd-1", "reload app.service", site.Host("etcd-2").StopEtcd)
			}
			end := applyRun(s.run, runSerially)
			restarted := slices.ContainsFunc(s.run.Events(), func(e event.Event) bool {
				return e.Type == event.StepStarted && strings.HasPrefix(e.Step, string(engine.RestartUnit))
			})
			exit := map[bool]engine.ExitCode{false: engine.ExitOK, true: engine.ExitFailed}[fails]
			if err := checkEnd(end, exit); err != nil || restarted == fails {
				t.Errorf("%v, restarted %v\n%s", err, restarted, runTranscript(s.run))
			}
			failOnErrors(t, checkLaws(site))
		})
	}
}
