package governing_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/governor"
)

// TestPaceIsRenewed checks that the same pace is sent again every five seconds, with rising serial numbers: a host that
// hears nothing for 15 s falls back to its safe pace.
func TestPaceIsRenewed(t *testing.T) {
	r := newRecorder(constantP99(0.002))
	if f := r.stageFor(t, 5*time.Minute, time.Hour); f != nil {
		t.Fatal(f)
	}
	for i, p := range r.paces[1:] {
		if before := r.paces[i]; p.at-before.at > 6*time.Second || p.serial <= before.serial {
			t.Fatalf("%+v follows %+v", p, before)
		}
	}
	if last := r.paces[len(r.paces)-1]; last.at < 4*time.Minute+50*time.Second || last.pace.Pause != 0 {
		t.Errorf("the last pace is %+v", last)
	}
}

// TestSafePaceLagsBehind checks that the safe pace is the floor until a sample has confirmed a faster one, and never
// faster than the pace before.
func TestSafePaceLagsBehind(t *testing.T) {
	r := newRecorder(constantP99(0.002))
	r.stageFor(t, time.Minute, time.Hour)
	if first := r.paces[0]; first.safe != floor || first.pace == floor {
		t.Errorf("the first pace is %+v", first)
	}
	for i, p := range r.paces[1:] {
		if before := r.paces[i].pace; p.safe.Slice > before.Slice || p.safe.Pause < before.Pause {
			t.Fatalf("%+v is safe after %+v", p.safe, before)
		}
	}
}

// TestRateFollowsThePace checks the rate of contents from the bastion: it is set with the pace, never below its floor,
// and lifted at the end. Without such contents it is not touched. An event has this lever.
func TestRateFollowsThePace(t *testing.T) {
	for content, rates := range map[bool]int{true: 10, false: 0} {
		r := newRecorder(constantP99(0.002))
		r.content = content
		r.stageFor(t, time.Minute, time.Hour)
		if len(r.rates) < rates || rates == 0 && len(r.rates) > 0 {
			t.Fatalf("contents %t: rates %v", content, r.rates)
		}
		want := engine.Lever{Name: engine.RateLever, InForce: content}
		if !content {
			want.Reason = "the bastion does not serve the OS"
		}
		if !slices.Contains(r.events[0].Levers, want) {
			t.Errorf("levers %+v", r.events[0].Levers)
		}
		if !content {
			continue
		}
		last := len(r.rates) - 1
		if r.rates[last] != 0 || slices.Min(r.rates[:last]) < governor.FloorRate || r.rates[last-1] <= r.rates[0] {
			t.Errorf("rates %v", r.rates)
		}
	}
}

// TestRateIsLowered checks that a slow member lowers the rate to its floor. If nothing else slows the staging, it is
// slowed and never paused.
func TestRateIsLowered(t *testing.T) {
	r := newRecorder(func(host string, at time.Duration) float64 {
		if host == "etcd-1" && at > 20*time.Second {
			return 0.2
		}
		return 0.002
	})
	r.content, r.reply = true, func(time.Duration) string { return "freeze no a daemon does the work\n" }
	r.stageFor(t, 2*time.Minute, time.Hour)
	if states := r.stateNames(); states != "free slowed ended" {
		t.Errorf("states %s", states)
	}
	if end := r.events[len(r.events)-1]; r.rates[len(r.rates)-2] != governor.FloorRate || end.SlowedFor < engine.Duration(90*time.Second) || end.PausedFor > 0 {
		t.Errorf("%+v, rates %v", end, r.rates)
	}
}

// TestDiskRateOnlySlows checks that a limit of the disk slows a staging and never pauses it, that the host gets the rate
// with each pace, and that a cluster without metrics gets a fixed one.
func TestDiskRateOnlySlows(t *testing.T) {
	slow := func(_ string, at time.Duration) float64 {
		if at > 20*time.Second {
			return 0.2
		}
		return 0.002
	}
	for want, p99 := range map[string]func(string, time.Duration) float64{"free slowed ended": slow, "free fixed ended": constantP99(-1)} {
		r := newRecorder(p99)
		r.reply = func(time.Duration) string { return "freeze no a daemon does the work\nio yes\n" }
		r.stageFor(t, 2*time.Minute, time.Hour)
		if states := r.stateNames(); states != want {
			t.Errorf("states %s, want %s", states, want)
		}
		for _, p := range r.paces {
			if p.rate < engine.FloorRate || p.safeRate < engine.FloorRate || p.safeRate > p.rate && p.pace.Slice > 0 {
				t.Fatalf("%+v", p)
			}
		}
		if last := r.paces[len(r.paces)-1]; want == "free slowed ended" && last.rate != engine.FloorRate {
			t.Errorf("the last pace is %+v", last)
		}
	}
}

// TestDiskRateFailsLater checks that the host reports a limit of the disk that is lost and comes back, and that the time
// without it does not count as slowed.
func TestDiskRateFailsLater(t *testing.T) {
	r := newRecorder(func(_ string, at time.Duration) float64 {
		if at > 5*time.Second {
			return 0.012
		}
		return 0.002
	})
	r.reply = func(at time.Duration) string {
		if at > 40*time.Second && at < 4*time.Minute {
			return "freeze no a daemon does the work\nio no systemctl set-property fails: no\n"
		}
		return "freeze no a daemon does the work\nio yes\n"
	}
	r.stageFor(t, 5*time.Minute, time.Hour)
	var reports []bool
	for _, e := range r.events {
		if e.State != engine.GovernorEnded && len(e.Levers) > 1 {
			reports = append(reports, e.Levers[1].InForce)
		}
	}
	if end := r.events[len(r.events)-1]; !slices.Equal(reports, []bool{true, false, true}) || end.SlowedFor == 0 || end.SlowedFor+end.PausedFor > engine.Duration(110*time.Second) {
		t.Errorf("reports %v, %+v", reports, end)
	}
}

// TestLeverFailsLater checks that a lever that fails after its first report is reported, and that the time from then
// on does not count as slowed.
func TestLeverFailsLater(t *testing.T) {
	r := newRecorder(func(_ string, at time.Duration) float64 {
		if at > 5*time.Second {
			return 0.012
		}
		return 0.002
	})
	r.reply = func(at time.Duration) string {
		if at > 40*time.Second {
			return "freeze no the staging cannot join its cgroup\n"
		}
		return "freeze yes\n"
	}
	r.stageFor(t, 4*time.Minute, time.Hour)
	end := r.events[len(r.events)-1]
	if lever := end.Levers[0]; lever.InForce || lever.Reason != "the staging cannot join its cgroup" || end.SlowedFor+end.PausedFor > engine.Duration(time.Minute) {
		t.Errorf("%+v", end)
	}
}

// TestDeadlineIsBeforeTheTimeout checks that a staging that takes too long is stopped shortly before the timeout of its
// step, and that this also holds if no latency is known.
func TestDeadlineIsBeforeTheTimeout(t *testing.T) {
	for name, p99 := range map[string]float64{"fast": 0.002, "blind": -1} {
		r := newRecorder(constantP99(p99))
		f := r.stageFor(t, 2*time.Hour, 10*time.Minute)
		if f == nil || f.Kind != engine.LatencyFailure || !strings.HasPrefix(f.Cause, "not staged within 10m") {
			t.Fatalf("%s: %+v", name, f)
		}
		if last := r.paces[len(r.paces)-1].at; last < 9*time.Minute || last > 10*time.Minute {
			t.Errorf("%s: the last pace is sent after %s", name, last)
		}
		if stop := r.events[len(r.events)-2]; stop.StopReason != engine.StopDeadline {
			t.Errorf("%s: %+v", name, stop)
		}
	}
}

// TestBlindStagingHasAFixedPace checks that without any latency the pace never changes, is renewed, and is a state and
// a time of its own.
func TestBlindStagingHasAFixedPace(t *testing.T) {
	r := newRecorder(constantP99(-1))
	r.stageFor(t, time.Minute, time.Hour)
	for _, p := range r.paces {
		if p.pace != r.paces[0].pace || p.safe != floor || p.pace.Slice != floor.Slice || p.pace.Pause < engine.Duration(50*time.Millisecond) {
			t.Fatalf("%+v", p)
		}
	}
	if end := r.events[len(r.events)-1]; r.stateNames() != "free fixed ended" || end.FixedFor < engine.Duration(55*time.Second) || end.SlowedFor+end.PausedFor > 0 {
		t.Errorf("%s: %+v", r.stateNames(), end)
	}
	if len(r.warned) != 1 || !strings.HasSuffix(r.warned[0], "; set the block metrics of the cluster, or governor = false") {
		t.Errorf("warnings %q", r.warned)
	}
	if len(r.paces) < 10 {
		t.Errorf("%d paces", len(r.paces))
	}
}

// TestPausesRaiseTheLimits checks that the latency of pauses counts as idle: if the machine is busy by itself, the
// staging is not paused again and again. If freezing is not in force, nothing pauses, and nothing is learned.
func TestPausesRaiseTheLimits(t *testing.T) {
	busy := func(_ string, at time.Duration) float64 {
		if at > 10*time.Second {
			return 0.012
		}
		return 0.002
	}
	paused := func(reply string) (pauses int) {
		r := newRecorder(busy)
		r.content, r.reply = true, func(time.Duration) string { return reply }
		r.stageFor(t, 4*time.Minute, time.Hour)
		for _, p := range r.paces {
			if p.pace.Slice == 0 && p.at > 2*time.Minute {
				pauses++
			}
		}
		return pauses
	}
	if n := paused("freeze yes\n"); n > 0 {
		t.Errorf("%d paces of a pause after two minutes", n)
	}
	if n := paused("freeze no a daemon does the work\n"); n == 0 {
		t.Error("no pause although no latency is one of a pause")
	}
}

// TestMembersMissingFromTheAnswersCount checks that a member of the inventory that is not even among the answers holds
// the pace, like one that does not answer.
func TestMembersMissingFromTheAnswersCount(t *testing.T) {
	r := newRecorder(constantP99(0.002))
	r.members = []string{"etcd-0"}
	r.stageFor(t, time.Minute, time.Hour)
	first := r.paces[0].pace
	for _, p := range r.paces {
		if p.pace.Slice > first.Slice || p.pace.Pause < first.Pause && p.pace.Slice > 0 {
			t.Fatalf("%+v", p)
		}
	}
}

// TestUnitThatHasNotStartedGetsItsPaceLater checks that the pace is sent each second until the unit has written its
// levers.
func TestUnitThatHasNotStartedGetsItsPaceLater(t *testing.T) {
	r := newRecorder(constantP99(0.002))
	r.reply = func(at time.Duration) string {
		if at < 30*time.Second {
			return ""
		}
		return "freeze yes\n"
	}
	r.stageFor(t, time.Minute, time.Hour)
	early := map[int]bool{}
	for _, p := range r.paces {
		if p.at < 30*time.Second {
			early[int(p.at/time.Second)] = true
		}
	}
	if len(early) < 28 || len(r.events[0].Levers) == 0 {
		t.Errorf("paces in %v; %+v", slices.Sorted(maps.Keys(early)), r.events[0])
	}
}

// TestLostPaceIsSentWithTheNextSample checks that a pace that does not arrive is sent again a second later.
func TestLostPaceIsSentWithTheNextSample(t *testing.T) {
	r := newRecorder(constantP99(0.002))
	lost := time.Duration(0)
	r.reply = func(at time.Duration) string {
		if at > 40*time.Second && lost == 0 {
			lost = at
			return "error"
		}
		return "freeze yes\n"
	}
	r.stageFor(t, time.Minute, time.Hour)
	i := slices.IndexFunc(r.paces, func(p sentPace) bool { return p.at > lost })
	if again := r.paces[i].at; again > lost+1100*time.Millisecond {
		t.Errorf("it is sent again %s later", again-lost)
	}
}

// TestRunsHaveSerialNumbersOfTheirOwn checks that no number of an earlier run comes again: the host ignores a pace
// whose number it knows.
func TestRunsHaveSerialNumbersOfTheirOwn(t *testing.T) {
	serials := map[int64]int{}
	for _, later := range []time.Duration{0, time.Minute} {
		r := newRecorder(constantP99(0.002))
		r.later = later
		r.stageFor(t, time.Minute, time.Hour)
		for _, p := range r.paces {
			serials[p.serial]++
		}
	}
	for serial, n := range serials {
		if n > 1 {
			t.Fatalf("number %d is used %d times", serial, n)
		}
	}
}

// TestIdleLatencyOfTheRunCounts checks that the latency before the first staging raises the limits and is reported.
func TestIdleLatencyOfTheRunCounts(t *testing.T) {
	r := newRecorder(constantP99(0.045))
	r.stageFor(t, time.Minute, time.Hour)
	end := r.events[len(r.events)-1]
	if r.stateNames() != "free ended" || len(end.Members) != 2 || end.Members[0].Idle.WALFsyncP99Seconds != 0.045 {
		t.Errorf("%s: %+v", r.stateNames(), end)
	}
}

// TestVerySlowDiskIsWarnedOf checks that the run warns of a member whose disk is slower than the highest limits while
// nothing is staged.
func TestVerySlowDiskIsWarnedOf(t *testing.T) {
	r := newRecorder(func(host string, _ time.Duration) float64 {
		if host == "etcd-1" {
			return 0.2
		}
		return 0.002
	})
	r.stageFor(t, time.Minute, time.Hour)
	want := "etcd cluster main: etcd-1 is slow although nothing is staged: its p99 is 200ms for WAL fsyncs and 0s for backend commits; the limits are at most 100ms and 250ms"
	if len(r.warned) != 1 || r.warned[0] != want {
		t.Errorf("warnings %q", r.warned)
	}
}

// TestOneMissedScrapeIsNotBlind checks that members whose metrics fail for a moment, at one of the two scrapes of the idle
// measurement, still slow the staging later.
func TestOneMissedScrapeIsNotBlind(t *testing.T) {
	for _, fails := range []time.Duration{-10 * time.Second, 0} {
		r := newRecorder(func(_ string, at time.Duration) float64 {
			switch {
			case at == fails:
				return -1
			case at > 30*time.Second:
				return 0.5
			}
			return 0.002
		})
		r.stageFor(t, 2*time.Minute, time.Hour)
		if last := r.paces[len(r.paces)-1]; last.rate > engine.FloorRate || len(r.warned) > 0 {
			t.Errorf("no answer at %s: %+v; warnings %q", fails, last, r.warned)
		}
	}
}

// TestRateIsLimitedFromTheBegin checks that the rate of contents is limited before the members are scraped, which may take
// seconds.
func TestRateIsLimitedFromTheBegin(t *testing.T) {
	r := newRecorder(constantP99(0.002))
	r.content = true
	scraped := 0
	r.p99 = func(string, time.Duration) float64 {
		if scraped++; scraped > 4 && len(r.rates) == 0 { // two members, before the staging two scrapes
			t.Errorf("scrape %d: no rate", scraped)
		}
		return 0.002
	}
	r.stageFor(t, 10*time.Second, time.Hour)
}

// TestThePauseBeginsBeforeItIsIdle checks that the first second of a pause does not count as idle: in a part of it the
// host still staged.
func TestThePauseBeginsBeforeItIsIdle(t *testing.T) {
	var r *recorder
	r = newRecorder(func(_ string, at time.Duration) float64 {
		n := len(r.paces)
		frozen := n > 0 && r.paces[n-1].pace.Slice == 0
		switch {
		case at < 5*time.Second:
			return 0.002
		case !frozen || at-r.pausedSince() < 1100*time.Millisecond:
			return 0.03
		}
		return 0.002
	})
	r.stageFor(t, 4*time.Minute, time.Hour)
	late := 0
	for _, p := range r.paces {
		if p.pace.Slice == 0 && p.at > 2*time.Minute {
			late++
		}
	}
	if late == 0 {
		t.Error("no pause after two minutes")
	}
}

// pausedSince returns the time of the first pace of the present pause.
func (r *recorder) pausedSince() (since time.Duration) {
	for _, p := range slices.Backward(r.paces) {
		if p.pace.Slice > 0 {
			break
		}
		since = p.at
	}
	return since
}

// TestALostPauseIsNotIdle checks a host that the bastion cannot reach from the middle of a pause on: after 15 s without a
// pace it stages again, at its safe pace, so the latency from then on is not the idle one, and does not raise the limits.
func TestALostPauseIsNotIdle(t *testing.T) {
	var r *recorder
	var lost time.Duration // begin of the time in which no pace arrives
	r = newRecorder(func(_ string, at time.Duration) float64 {
		n := len(r.paces)
		switch {
		case n == 0 || at < 5*time.Second:
			return 0.002
		case r.paces[n-1].pace.Slice == 0 && at-r.paces[n-1].at < 15*time.Second:
			return 0.002
		}
		return 0.03
	})
	r.lost = func(at time.Duration) bool {
		if n := len(r.paces); lost == 0 && at > time.Minute && r.paces[n-1].pace.Slice == 0 && at-r.pausedSince() > time.Second {
			lost = at
		}
		return lost > 0 && at < lost+40*time.Second
	}
	r.stageFor(t, 8*time.Minute, time.Hour)
	checkPausesAfter(t, r, lost+time.Minute)
}

// TestAPaceWhoseAnswerIsLostEndsThePause checks that a pause ends for the bastion with the first pace that may have
// arrived at the host, although the host's answer was lost.
func TestAPaceWhoseAnswerIsLostEndsThePause(t *testing.T) {
	var r *recorder
	r = newRecorder(func(_ string, at time.Duration) float64 {
		if n := len(r.paces); n == 0 || at < 5*time.Second || r.paces[n-1].pace.Slice == 0 {
			return 0.002
		}
		return 0.03
	})
	r.reply = func(time.Duration) string {
		if n := len(r.paces); n > 1 && r.paces[n-1].pace.Slice > 0 && r.paces[n-2].pace.Slice == 0 {
			return "error"
		}
		return "freeze yes\n"
	}
	r.stageFor(t, 8*time.Minute, time.Hour)
	checkPausesAfter(t, r, time.Minute)
}

func checkPausesAfter(t *testing.T, r *recorder, after time.Duration) {
	t.Helper()
	late := 0
	for _, p := range r.paces {
		if p.pace.Slice == 0 && p.at > after {
			late++
		}
	}
	if after <= time.Minute-time.Second || late == 0 {
		t.Errorf("%d paces of a pause after %s; states %s", late, after, r.stateNames())
	}
}
