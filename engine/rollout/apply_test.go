package rollout_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

func TestApply(t *testing.T) {
	for _, n := range []struct{ members, workers int }{{3, 2}, {5, 2}, {1, 0}, {0, 3}} {
		t.Run(fmt.Sprintf("%d+%d", n.members, n.workers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inv := simulator.Fleet(n.members, n.workers)
				for i := range inv.Clusters {
					inv.Clusters[i].AllowOutage = true
				}
				site := newSite(inv)
				b := site.Bastion("run-1")
				often := func(r *rollout.Run) { r.Interval = 5 * time.Second }
				failOnErrors(t, checkEnd(applyRun(b, runSerially, often), engine.ExitOK, "every host matches"), checkConverged(site))
				compareGolden(t, runTranscript(b))
				checkSecondRun(t, site)
			})
		})
	}
}

// TestCompareWithoutWork: a plan is compared with a saved plan also if it has no work.
func TestCompareWithoutWork(t *testing.T) {
	for _, works := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			site := newSite(simulator.Fleet(0, 1))
			if !works {
				failOnErrors(t, checkEnd(applyRun(site.Bastion("run-1"), runSerially), engine.ExitOK, "every host matches"))
			}
			compare := func(r *rollout.Run) {
				r.Compare = func(p engine.Plan) error {
					if p.HasWork() != works {
						t.Errorf("%+v", p)
					}
					return &engine.Failure{Step: "compare with it", Cause: "another plan", Kind: engine.RefusedFailure}
				}
			}
			failOnErrors(t, checkEnd(applyRun(site.Bastion("run-2"), runSerially, compare), engine.ExitFailed, "another plan"))
		})
	}
}

// runSerially makes the order of events deterministic. It probes booting hosts
// less often, because these probes take most of the time of thousands of runs.
func runSerially(r *rollout.Run) { r.Forks, r.Interval = 1, pollInterval }

// checkSecondRun applies once more, and expects only one probe of each host and
// cluster.
func checkSecondRun(t *testing.T, site *simulator.Site) {
	t.Helper()
	b := site.Bastion("run-again")
	before := len(site.Log())
	failOnErrors(t, checkEnd(applyRun(b), engine.ExitOK))
	if calls := b.Calls(); len(calls) != len(site.Inventory.Hosts)+len(site.Inventory.Clusters) {
		t.Errorf("the second run made %d calls for %d hosts: %v", len(calls), len(site.Inventory.Hosts), calls)
	}
	if log := site.Log(); len(log) != before {
		t.Errorf("the second run changed hosts: %v", log[before:])
	}
}

// runTranscript returns the events of a run, one per line, except samples of
// etcd.
func runTranscript(b *simulator.Bastion) string {
	var s strings.Builder
	for _, e := range b.Events() {
		if e.Type == event.EtcdSampled {
			continue
		}
		line := fmt.Sprintf("%s %s", e.Time.UTC().Format("15:04:05"), e.Type)
		for _, part := range []string{e.Cluster, e.Host, e.Step, e.Message} {
			if part != "" {
				line += " " + part
			}
		}
		if e.Failure != nil {
			line += " FAILED " + e.Failure.Cause
		}
		if e.End != nil {
			line += fmt.Sprintf(" %d %s; updated %v, failed %v, left %v", e.End.Exit, report.EndText(*e.End), e.End.Updated, e.End.Failed, e.End.Untouched)
		}
		s.WriteString(line + "\n")
	}
	return s.String()
}

func compareGolden(t *testing.T, got string) {
	t.Helper()
	path := filepath.Join("testdata", strings.ReplaceAll(t.Name(), "/", "-")+".golden")
	if *update {
		failOnErrors(t, os.MkdirAll("testdata", 0o755), os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	failOnErrors(t, err)
	was, is := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for i := range was {
		if i == len(is) || was[i] != is[i] {
			t.Fatalf("line %d is not as in %s (-update rewrites it): %q, now %q", i+1, path, was[i], is[min(i, len(is)-1)])
		}
	}
}
