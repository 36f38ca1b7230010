package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast/cmd/holdfast-lab/internal/idle"
	"holdfast/cmd/holdfast-lab/internal/lab"
	"holdfast/cmd/holdfast-lab/internal/probe"
	"holdfast/engine"
)

func parseNumber(ts *testscript.TestScript, text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 63)
	ts.Check(err)
	return n
}

func cmdBooted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: booted VERSION HOST…")
	}
	s := stageOf(ts)
	want := args[0]
	if known := ts.Getenv(want); known != "" {
		want = known
	}
	for _, name := range args[1:] {
		commit, version, err := s.findHost(ts, name).Booted(s.ctx)
		ts.Check(err)
		if commit != want {
			ts.Fatalf("%s runs %s (%.12s), not %s", name, version, commit, args[0])
		}
	}
}

func cmdBoots(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: boots TIMES HOST…")
	}
	s := stageOf(ts)
	for _, name := range args[1:] {
		boots, err := s.countBoots(s.findHost(ts, name))
		ts.Check(err)
		if want := int(parseNumber(ts, args[0])); boots != want {
			ts.Fatalf("%s booted %d times, not %d", name, boots, want)
		}
	}
}

func (s *stage) countBoots(h *lab.Host) (int, error) {
	events, err := h.PowerLog()
	if err != nil {
		return 0, err
	}
	boots := 0
	for _, e := range events {
		if strings.HasPrefix(e.Text, "boot ") && e.At.After(s.began) {
			boots++
		}
	}
	return boots, nil
}

func cmdBack(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: back TIMES HOST…")
	}
	s := stageOf(ts)
	want := int(parseNumber(ts, args[0]))
	for _, name := range args[1:] {
		ts.Check(s.waitUntilOK(time.Minute, func() error {
			boots, err := s.countBoots(s.findHost(ts, name))
			if err == nil && boots < want {
				err = fmt.Errorf("%s booted %d times, not %d", name, boots, want)
			}
			return err
		}))
	}
	cmdUp(ts, neg, args[1:])
}

func (s *stage) readHold(h *lab.Host) (*engine.Hold, error) {
	text, err := h.Output(s.ctx, "sudo cat "+engine.HoldPath+" 2>/dev/null || [ ! -e "+engine.HoldPath+" ]")
	if err != nil || text == "" {
		return nil, err
	}
	hold := &engine.Hold{}
	return hold, json.Unmarshal([]byte(text), hold)
}

func cmdHeld(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: held HOST [REGEXP]")
	}
	s := stageOf(ts)
	h, err := s.readHold(s.findHost(ts, args[0]))
	ts.Check(err)
	if h == nil {
		ts.Fatalf("%s is not held", args[0])
	}
	said := h.String()
	if h.Step != "" {
		said += ", at step " + h.Step
	}
	if len(args) == 2 && !regexp.MustCompile(args[1]).MatchString(said) {
		ts.Fatalf("the hold of %s does not match %s: %s", args[0], args[1], said)
	}
}

func cmdFree(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: free HOST…")
	}
	s := stageOf(ts)
	for _, name := range args {
		h, err := s.readHold(s.findHost(ts, name))
		ts.Check(err)
		if h != nil {
			ts.Fatalf("%s is %s", name, h)
		}
	}
}

// cmdLeader sets $leader to the host of a cluster's leader, and $follower1,
// $follower2 and so on to the hosts of the other members.
func cmdLeader(ts *testscript.TestScript, neg bool, args []string) {
	requireArgs(ts, neg, args, "leader CLUSTER")
	s := stageOf(ts)
	c, ok := s.Lab.Spec().Cluster(args[0])
	if !ok {
		ts.Fatalf("the lab has no cluster %s", args[0])
	}
	followers := 0
	for _, name := range c.Hosts {
		status, err := s.findHost(ts, name).EtcdHealth(s.ctx)
		ts.Check(err)
		if status.Header.MemberId == status.Leader {
			ts.Setenv("leader", name)
			continue
		}
		followers++
		ts.Setenv("follower"+strconv.Itoa(followers), name)
	}
}

func cmdHealthy(ts *testscript.TestScript, neg bool, args []string) {
	requireArgs(ts, neg, args, "healthy CLUSTER")
	s := stageOf(ts)
	c, ok := s.Lab.Spec().Cluster(args[0])
	if !ok {
		ts.Fatalf("the lab has no cluster %s", args[0])
	}
	for _, name := range c.Hosts {
		_, err := s.findHost(ts, name).EtcdHealth(s.ctx)
		ts.Check(err)
	}
}

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

// cmdUnwatch ends a watch and checks its report. At all times, a quorum and all
// voters but one must have answered; min= sets another number. failed= is the
// largest number of failed writes (defaultFailed by default). gap= is the longest
// time without a commit. away= lists the members that must have rebooted, in
// order. With lost=, all keys are read back, and lost= is the largest number of
// confirmed writes that may be missing. Delays that a busy machine or a slow disk explains are only printed.
func cmdUnwatch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: unwatch CLUSTER [min=N] [failed=N] [gap=DURATION] [away=HOST,…] [lost=N]")
	}
	s := stageOf(ts)
	p := s.watches[args[0]]
	if p == nil {
		ts.Fatalf("nobody watches %s", args[0])
	}
	delete(s.watches, args[0])
	var lost []string
	if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "lost=") }) {
		var err error
		lost, err = p.LostKeys(s.ctx)
		ts.Check(err)
	}
	r, stall, err := p.Stop()
	ts.Check(err)
	ts.Logf("%s%s", r, strings.Join(r.Errors, "\n"))
	e := expectation{min: max(len(r.Members)-1, r.Quorum), failed: defaultFailed, gap: defaultGap}
	ts.Check(e.parseArgs(args[1:]))
	if len(lost) > e.lost {
		ts.Fatalf("%d of %d confirmed writes are lost, the first is %s", len(lost), r.Writes-r.Failed, lost[0])
	}
	ts.Check(s.checkReport(args[0], e.findMisses(r), stall))
}

// checkReport returns the misses of a report as an error. If the load of the
// machine or its disk explains them, it only prints them.
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
		fmt.Fprintln(os.Stderr, excused)
	}
	return err
}

// These are the default limits of a watch. A write to a member that shuts down
// may fail with a connection error. On a busy machine everything takes longer.
const (
	defaultFailed = 5
	defaultGap    = idle.QuorumLossGap
)

func (e *expectation) parseArgs(args []string) error {
	for _, a := range args {
		key, value, _ := strings.Cut(a, "=")
		var err error
		switch key {
		case "min":
			e.min, err = strconv.Atoi(value)
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
		if err != nil {
			return fmt.Errorf("read %s: %w", a, err)
		}
	}
	return nil
}
