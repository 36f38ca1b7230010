package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast/cmd/holdfast-lab/internal/idle"
	"holdfast/cmd/holdfast-lab/internal/probe"
)

// watch observes a cluster, and the disk that its members use.
type watch struct {
	*probe.Probe
	disk *idle.DiskWatch
}

// Stop ends both watches. It returns the report on the cluster and the longest stall of the disk.
func (w *watch) Stop() (probe.Report, time.Duration, error) {
	r, err := w.Probe.Stop()
	stall, diskErr := w.disk.Stop()
	return r, stall, errors.Join(err, diskErr)
}

func cmdWatch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: watch CLUSTER [HOST…]")
	}
	s := stageOf(ts)
	disk, err := idle.WatchDisk(s.Lab.Dir())
	ts.Check(err)
	p, err := s.Lab.Probe(s.ctx, args[0], args[1:]...)
	if err != nil {
		_, stopErr := disk.Stop()
		ts.Check(errors.Join(err, stopErr))
	}
	s.watches[args[0]] = &watch{p, disk}
}

func (s *stage) findWatch(ts *testscript.TestScript, cluster string) *watch {
	w := s.watches[cluster]
	if w == nil {
		ts.Fatalf("nobody watches %s", cluster)
	}
	return w
}

func cmdAvoid(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: avoid CLUSTER [HOST…]")
	}
	stageOf(ts).findWatch(ts, args[0]).Avoid(args[1:]...)
}

// cmdUnwatch ends a watch and checks its report, with the limits of newExpectation
// and those that the arguments set. With lost=, it reads all keys back. Delays that
// a busy machine or a slow disk explains are only printed.
func cmdUnwatch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: unwatch CLUSTER [min=N] [quorum=kept] [failed=N] [gap=DURATION] [away=HOST,…] [lost=N]")
	}
	s := stageOf(ts)
	w := s.findWatch(ts, args[0])
	delete(s.watches, args[0])
	result := watchResult{scenario: ts.Name(), cluster: args[0], lost: "-"}
	var lost []string
	if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "lost=") }) {
		var err error
		lost, err = w.LostKeys(s.ctx)
		ts.Check(err)
		result.lost = strconv.Itoa(len(lost))
	}
	r, stall, err := w.Stop()
	ts.Check(err)
	result.report = r
	s.done.addWatch(result)
	ts.Logf("%s%s", r, strings.Join(r.Errors, "\n"))
	e := newExpectation(r)
	ts.Check(e.parseArgs(args[1:]))
	if len(lost) > e.lost {
		ts.Fatalf("%d of %d confirmed writes are lost, the first is %s", len(lost), r.Writes-r.Failed, lost[0])
	}
	ts.Check(s.checkReport(args[0], e.findMisses(r), stall))
}

// checkReport only prints misses that the load of the machine or its disk explains.
func (s *stage) checkReport(cluster string, list []idle.Miss, stall time.Duration) error {
	var load idle.Load
	if len(list) > 0 && !slices.ContainsFunc(list, func(m idle.Miss) bool { return m.Certain }) {
		var err error
		if load, err = idle.Measure(s.ctx, s.Lab, cluster); err != nil {
			return err
		}
	}
	excused, err := judgeMisses(list, load, stall)
	if excused != "" {
		s.trial.addNote(excused)
	}
	return err
}

// These are the default limits of a watch. A write to a member that shuts down
// may fail with a connection error. On a busy machine everything takes longer.
const (
	defaultFailed = 5
	defaultGap    = idle.QuorumLossGap
)

// newExpectation returns the limits of a watch without arguments: all voters but
// one, and a quorum, answer at all times. If the number of voters has changed, the
// quorum of the moment does.
func newExpectation(r probe.Report) expectation {
	e := expectation{failed: defaultFailed, gap: defaultGap, quorum: len(r.Changes) > 1}
	if !e.quorum {
		e.min = max(r.Changes[0]-1, r.Quorum)
	}
	return e
}

func (e *expectation) parseArgs(args []string) error {
	given := map[string]bool{}
	err := parseSettings(args, func(key, value string) error {
		given[key] = true
		return e.parseLimit(key, value)
	})
	if given["min"] && !given["quorum"] {
		e.quorum = false
	}
	return err
}

// parseSettings passes each argument KEY=VALUE to the function, and ends at its first error.
func parseSettings(args []string, parse func(key, value string) error) error {
	for _, a := range args {
		key, value, _ := strings.Cut(a, "=")
		if err := parse(key, value); err != nil {
			return fmt.Errorf("read %s: %w", a, err)
		}
	}
	return nil
}

func (e *expectation) parseLimit(key, value string) (err error) {
	switch key {
	case "min":
		e.min, err = strconv.Atoi(value)
	case "quorum":
		if e.quorum = value == "kept"; !e.quorum {
			err = errors.New("must be kept")
		}
	case "failed":
		e.failed, err = strconv.Atoi(value)
	case "gap":
		e.gap, err = time.ParseDuration(value)
	case "lost":
		e.lost, err = strconv.Atoi(value)
	case "away":
		e.away = slices.DeleteFunc(strings.Split(value, ","), func(s string) bool { return s == "" })
		e.order = true
	default:
		err = errors.New("not known")
	}
	return err
}

// watchResult is the outcome of one watch. lost is "-" if the keys were not read
// back.
type watchResult struct {
	scenario, cluster, lost string
	report                  probe.Report
}

// formatResults returns a table of all watches of a run, or "" if there were none.
func formatResults(results []watchResult) string {
	if len(results) == 0 {
		return ""
	}
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nSCENARIO\tWATCH\tTIME\tWRITES\tFAILED\tLOST\tLONGEST GAP\tVOTERS\tSMALLEST SPARE\tA LEARNER VOTES AFTER")
	counts := map[string]int{}
	for _, result := range results {
		r := result.report
		counts[result.scenario+" "+result.cluster]++
		var joined []string
		for _, j := range r.Joined {
			joined = append(joined, fmt.Sprintf("%.1f", j.Took.Seconds()))
		}
		after := "-"
		if len(joined) > 0 {
			after = strings.Join(joined, ", ") + " s"
		}
		fmt.Fprintf(t, "%s\t%s %d\t%.0f s\t%d\t%d\t%s\t%d ms\t%s\t%s at %s\t%s\n", result.scenario, result.cluster, counts[result.scenario+" "+result.cluster],
			r.Took.Seconds(), r.Writes, r.Failed, result.lost, r.Gap.Milliseconds(), r.Sizes(), r.Least, r.Least.At.Format(time.TimeOnly), after)
	}
	_ = t.Flush() // a strings.Builder returns no errors
	return b.String() + "\n"
}
