package bench

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"holdfast/cmd/holdfast-lab/internal/disk"
	"holdfast/cmd/holdfast-lab/internal/probe"
	"holdfast/cmd/holdfast-lab/internal/site"
	"holdfast/cmd/holdfast-lab/internal/spec"
	"holdfast/engine"
	"holdfast/engine/etcd"
	"holdfast/engine/etcd/metrics"
	"holdfast/engine/inventory"
)

var (
	began = time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)
	slow  = conditions{Bytes: 500 << 20, Disk: disk.Speed{BytesPerSecond: 50e6, IOPS: 500}}
	fast  = conditions{Bytes: 500 << 20, Disk: disk.Speed{BytesPerSecond: 200e6, IOPS: 2000}}
)

func timeAfter(seconds float64) time.Time {
	return began.Add(time.Duration(seconds * float64(time.Second)))
}

// scrapedAt returns metrics with three numbers of observations: those up to 8 ms, those up to 256
// ms, and all.
func scrapedAt(second int, quick, slow, all uint64) metrics.Counters {
	h := metrics.Histogram{Buckets: []metrics.Bucket{{UpperBound: 0.008, Count: quick}, {UpperBound: 0.256, Count: slow}, {UpperBound: math.Inf(1), Count: all}}}
	return metrics.Counters{WALFsync: h, BackendCommit: h, ScrapedAt: timeAfter(float64(second))}
}

func TestWorstWindow(t *testing.T) {
	var s series
	quick, slow := uint64(0), uint64(0)
	for second := range 60 {
		quick += 100
		if second == 30 {
			slow += 50
		}
		s = append(s, scrapedAt(second, quick, quick+slow, quick+slow))
	}
	if overall := s.measureLatencies()[walFsync]; overall.quantile(0.99).Value > 8*time.Millisecond || overall.quantile(1).High != 256*time.Millisecond {
		t.Errorf("overall %+v", overall)
	}
	if worst := s.worstP99()[walFsync]; worst < engine.Duration(100*time.Millisecond) {
		t.Errorf("worst %s", worst)
	}
	part := s.scrapesBetween(timeAfter(40.001), timeAfter(50))
	if worst := part.worstP99()[walFsync]; len(part) != 12 || worst == 0 || worst > engine.Duration(8*time.Millisecond) {
		t.Errorf("%d scrapes, worst %s", len(part), worst)
	}
	if worst := s[:3].worstP99(); worst[walFsync] == 0 {
		t.Error("a series that is shorter than a window has no worst window")
	}
	if none := (series{}).worstP99(); none != [latencyKinds]engine.Duration{} {
		t.Errorf("worst of nothing %+v", none)
	}
}

// histogramWith returns a histogram of 1000 observations with etcd's bounds. more
// has, for each bound, the number of observations that took longer.
func histogramWith(more map[time.Duration]uint64) histogram {
	var h histogram
	for bound := time.Millisecond; bound < 9*time.Second; bound *= 2 {
		h = append(h, bucket{engine.Duration(bound), 1000 - more[bound]})
	}
	return append(h, bucket{Count: 1000})
}

// histogramWithin returns a histogram with 15 observations in the bucket that ends
// at bound, and 985 in the bucket before it.
func histogramWithin(bound time.Duration) histogram {
	more := map[time.Duration]uint64{}
	for b := time.Millisecond; b < bound; b *= 2 {
		if more[b] = 15; b < bound/2 {
			more[b] = 1000
		}
	}
	return histogramWith(more)
}

// TestVerdictIsCertain checks that a goal is kept or missed only if it is so for
// all values in the buckets of both p99.
func TestVerdictIsCertain(t *testing.T) {
	const ms = time.Millisecond
	between8And16 := histogramWith(map[time.Duration]uint64{ms: 1000, 2 * ms: 1000, 4 * ms: 1000, 8 * ms: 1000})
	for name, c := range map[string]struct {
		idle, staging histogram
		want          verdict
	}{
		"both below the limit":                                   {histogramWithin(4 * ms), histogramWithin(8 * ms), kept},
		"the bucket has the limit":                               {histogramWithin(4 * ms), histogramWithin(16 * ms), undecided},
		"above the limit":                                        {histogramWithin(4 * ms), histogramWithin(32 * ms), missed},
		"the idle latency may raise the limit":                   {histogramWithin(16 * ms), histogramWithin(32 * ms), undecided},
		"the idle latency certainly raises the limit":            {histogramWithin(32 * ms), histogramWithin(16 * ms), kept},
		"above each limit that idle may raise":                   {histogramWithin(16 * ms), histogramWithin(64 * ms), missed},
		"above the last bound, not known idle":                   {nil, histogramWithin(16384 * ms), missed},
		"an idle latency without a bound":                        {histogramWithin(16384 * ms), histogramWithin(16384 * ms), undecided},
		"the idle latency may be at the lower end of its bucket": {between8And16, histogramWithin(16 * ms), undecided},
		"nothing was written":                                    {nil, nil, kept},
	} {
		m := member{Idle: histograms{walFsync: c.idle}, Staging: histograms{walFsync: c.staging}}
		e := m.latencyExcess()
		if e.verdict() != c.want || e.value < e.least || e.value > e.most {
			t.Errorf("%s: %s, %+v", name, e.verdict(), e)
		}
	}
	if share := histogramWithin(16 * ms).shareWithin(8 * ms); share != 0.985 {
		t.Errorf("share %g", share)
	}
	if bounds := append(boundsAround(walFsync), boundsAround(backendCommit)...); !slices.Equal(bounds, []time.Duration{8 * ms, 16 * ms, 32 * ms, 16 * ms, 32 * ms, 64 * ms}) {
		t.Error(bounds)
	}
	if text := formatBucket(histogramWithin(16384 * ms).quantile(0.999)); text != "over 8.19 s" {
		t.Error(text)
	}
}

func TestReadEvents(t *testing.T) {
	const events = `{"type":"stage-started","time":"2026-11-23T03:00:00Z"}
{"type":"staging-governed","governor":{"state":"slowed","stop_reason":"latency"}}
{"type":"staging-governed","governor":{"state":"ended","slowed_for":"3s","paused_for":"1s"}}
{"type":"stage-ended","time":"2026-11-23T03:00:20Z"}
{"type":"step-ended","failure":{"cause":"no space"}}
`
	var m moments
	cause, err := m.readEvents(strings.NewReader(events))
	if err != nil || cause != "no space" || m.staged.Sub(m.began) != 20*time.Second || m.slowed != 3*time.Second || m.paused != time.Second || !m.updateBegan || m.stopped != engine.StopLatency {
		t.Errorf("%+v, %q, %v", m, cause, err)
	}
	if _, err := m.readEvents(strings.NewReader("what\n")); err == nil {
		t.Error("no error")
	}
}

func TestFailuresAreNoted(t *testing.T) {
	for name, c := range map[string]struct {
		m    moments
		err  error
		want run
	}{
		"none":                  {moments{updateBegan: true}, nil, run{}},
		"no boot":               {moments{}, errors.New("no boot"), run{Failed: "no boot", Failure: failedOtherwise, Unmeasured: true}},
		"governor":              {moments{updateBegan: true, stopped: engine.StopLatency}, errors.New("x"), run{Failed: "x", Failure: failedByAbort}},
		"deadline of holdfast":  {moments{updateBegan: true, stopped: engine.StopDeadline}, errors.New("x"), run{Failed: "x", Failure: failedByDeadline}},
		"deadline of the bench": {moments{updateBegan: true}, context.DeadlineExceeded, run{Failed: context.DeadlineExceeded.Error(), Failure: failedByDeadline}},
	} {
		var r run
		if r.noteFailure(c.m, c.err); r.Failed != c.want.Failed || r.Failure != c.want.Failure || r.Unmeasured != c.want.Unmeasured {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestAnInterruptedRunIsNotRepeated checks that the bench ends at once.
func TestAnInterruptedRunIsNotRepeated(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	if _, err := measureTwice(ctx, func() (run, error) { n++; cancel(); return run{Unmeasured: true}, nil }); n != 1 || err != nil {
		t.Errorf("%d attempts, %v", n, err)
	}
}

// TestARunThatDidNotBeginIsRepeated checks that a run is repeated once if it
// failed before its staging began, and never otherwise.
func TestARunThatDidNotBeginIsRepeated(t *testing.T) {
	for name, c := range map[string]struct {
		attempts []run
		want     int
		repeated string
	}{
		"measured":           {[]run{{}}, 1, ""},
		"failed afterwards":  {[]run{{Failed: "abort"}}, 1, ""},
		"did not boot":       {[]run{{Failed: "no boot", Unmeasured: true}, {}}, 2, "no boot"},
		"did not boot twice": {[]run{{Failed: "no boot", Unmeasured: true}, {Failed: "again", Unmeasured: true}}, 2, "no boot"},
	} {
		n := 0
		r, err := measureTwice(t.Context(), func() (run, error) { n++; return c.attempts[n-1], nil })
		if err != nil || n != c.want || r.Repeated != c.repeated || r.Failed != c.attempts[n-1].Failed {
			t.Errorf("%s: %d attempts, %+v, %v", name, n, r, err)
		}
	}
}

func TestInventories(t *testing.T) {
	members, err := spec.Parse("members.hcl", []byte(membersHCL))
	if err != nil {
		t.Fatal(err)
	}
	text := string(site.RenderInventory(members, "lab/ref", strings.Repeat("a", 64), nil))
	for _, w := range allWays() {
		changed, err := w.changeInventory(text, "/lab/repo")
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := inventory.Load(inventory.Source{FS: fstest.MapFS{"bench.hcl": {Data: []byte(changed)}}, Root: "/", Paths: []string{"bench.hcl"}})
		if err != nil {
			t.Fatalf("(%s) %v\n%s", w.letter, err, changed)
		}
		if governed := !loaded.Inventory.Clusters[0].NotGoverned; governed != w.governed {
			t.Errorf("(%s) governed %t", w.letter, governed)
		}
		if mirrored := strings.Contains(changed, `source = "bastion"`); mirrored != w.mirrored {
			t.Errorf("(%s) mirrored %t", w.letter, mirrored)
		}
		if stage := loaded.Inventory.Pools[0].Timeouts.Stage; time.Duration(stage) != stageTimeout || longestUpdate <= stageTimeout {
			t.Errorf("(%s) staging may take %s, the update %s", w.letter, stage, longestUpdate)
		}
	}
	if _, err := allWays()[0].changeInventory("nothing", ""); err == nil {
		t.Error("no error without a pool")
	}
}

// TestSummarize checks that the figures of the staging are apart from those of
// the whole update.
func TestSummarize(t *testing.T) {
	m := measurement{moments: moments{idleBegan: began, began: timeAfter(30), staged: timeAfter(40), ended: timeAfter(50)}}
	m.record = probe.Record{Start: began, End: timeAfter(60), Lists: []probe.List{{After: began, By: began}}}
	for i := range 600 {
		w := probe.Write{Start: timeAfter(float64(i) / 10), Took: 5 * time.Millisecond}
		switch at := w.Start; {
		case at.After(timeAfter(32)) && at.Before(timeAfter(33.05)):
			continue // a gap of 1.1 s while staging
		case at.After(timeAfter(44)) && at.Before(timeAfter(47.05)):
			w.Err = "no leader"
		}
		m.record.Writes = append(m.record.Writes, w)
	}
	for second := range 60 {
		n := uint64(second * 100)
		one := sample{}
		for _, host := range []string{"etcd-0", "etcd-1"} {
			one[host] = etcd.Scraped{Metrics: scrapedAt(second, n, n, n)}
		}
		m.samples = append(m.samples, one)
	}
	for i := range 300 {
		d := diskCounters{writtenBytes: 5e6, writtenOps: 20, readOps: 10}
		m.watched = append(m.watched, watched{at: timeAfter(float64(i) / 5), disks: []diskCounters{{}, d}, waiting: time.Duration(i) * 50 * time.Millisecond})
	}
	r := run{key: key{Way: "d", Round: 1, conditions: slow}, Host: "etcd-1"}
	r.addFigures(m, []string{"etcd-0", "etcd-1"})
	c := r.Clients
	if c.StagingFailed != 0 || c.Failed != 30 || time.Duration(c.StagingGap).Round(100*time.Millisecond) != 1100*time.Millisecond || time.Duration(c.Gap).Round(100*time.Millisecond) != 3100*time.Millisecond {
		t.Errorf("%+v", c)
	}
	if len(r.Members) != 2 || r.Members[0].Idle[walFsync].quantile(1).Observed < 1900 || r.Staged != engine.Duration(10*time.Second) {
		t.Errorf("%+v", r)
	}
	if u := r.Machine; math.Abs(u.DiskBytes-0.5) > 0.01 || math.Abs(u.DiskOps-0.2) > 0.01 || math.Abs(u.Waiting-0.25) > 0.01 {
		t.Errorf("%+v", u)
	}
	if limit := r.limitedBy(); limit != "nothing that the bench measures" {
		t.Error(limit)
	}
	r.Machine, r.Slowed = machineUse{Taken: 0.95, DiskBytes: 0.8}, r.Staged
	if limit := r.limitedBy(); limit != "the processors, the bandwidth of the disk, the governor" {
		t.Error(limit)
	}
	if shown, others := r.shownMembers(), r.unstagedMembers(); len(shown) != 1 || shown[0].Host != "etcd-1" || len(others) != 1 || others[0].Host != "etcd-0" {
		t.Errorf("%+v, %+v", shown, others)
	}
	if r.Way = "a"; r.shownMembers()[0].Host != "etcd-0" {
		t.Error("in (a) the latencies are those of the others")
	}
	if text := r.String(); !strings.Contains(text, "100.0 % within 8.0 ms") || !strings.Contains(text, "in 0 to 8.0 ms") {
		t.Error(text)
	}
}
