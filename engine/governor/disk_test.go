package governor_test

import (
	"cmp"
	"math"
	"math/rand"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/governor"
)

// disk is a simulated disk with an etcd member and a host that stages on it. An
// fsync waits until all earlier data are written: the data of other programs,
// and the data of the host's last slice.
type disk struct {
	bandwidth float64 // bytes per second
	producer  float64 // bytes per second that the host writes into the page cache while it is not frozen
	fsyncs    int     // number of fsyncs per second
	base      time.Duration
	noise     float64                     // share of fsyncs that take three times as long
	load      func(time.Duration) float64 // share of the disk that other programs use
	missing   func(time.Duration) bool    // whether the member does not answer
	random    *rand.Rand                  // random numbers from a fixed seed
	knobs     governor.Knobs              // current knobs
	at        time.Duration               // time since the begin
	fsync     []observation               // fsyncs of the last LongTime
	staged    float64                     // bytes that were staged
	frozen    bool                        // in a pause or a flush
	phase     time.Duration               // time until the end of the slice or the pause
	backlog   float64                     // bytes that wait to be written
	next      time.Duration               // time of the next fsync
	all       []observation               // fsyncs since the begin
	stall     func() time.Duration        // delay of an fsync by the machine; nil: no delay
	start     time.Duration               // time by which the start of a program makes each slice longer
	turn      time.Duration               // time by which programs make each pause longer
	flush     time.Duration               // time that each flush takes from the disk, besides its data
	small     func(float64) bool          // whether the objects after that many bytes are small; nil: no small objects

	abortAfter time.Duration // how long stageWatched lets the limits be exceeded at the floor; 0: as long as by default
}

type observation struct{ at, took time.Duration }

const step = time.Millisecond

// smallRate is how fast the host writes small objects, in bytes per second. The
// host waits for the flush of each object of 10 KB, which takes 3 ms.
const smallRate = 3e6

// simulate simulates the disk for that time.
func (d *disk) simulate(span time.Duration) {
	for end := d.at + span; d.at < end; d.at += step {
		speed := d.bandwidth * (1 - d.load(d.at)) * step.Seconds()
		d.backlog = max(d.backlog-speed, 0)
		d.phase -= step
		switch {
		case d.knobs.Slice == 0:
			d.frozen = true
		case d.frozen && d.backlog == 0 && d.phase <= 0:
			d.frozen, d.phase = false, d.knobs.Slice+d.start
		case d.frozen && d.backlog > 0:
			d.phase = d.knobs.Pause + d.turn // the pause follows the flush
		case !d.frozen:
			written := d.producer * step.Seconds()
			if d.small != nil && d.small(d.staged) {
				written = min(written, smallRate*step.Seconds())
			}
			d.staged += written
			d.backlog += written
			if d.phase <= 0 {
				d.frozen, d.phase = true, d.knobs.Pause+d.turn
				d.backlog += d.flush.Seconds() * d.bandwidth
			}
		}
		if d.at >= d.next && d.fsyncs > 0 {
			took := d.base
			if d.random.Float64() < d.noise {
				took *= 3
			}
			if free := d.bandwidth * (1 - d.load(d.at)); free > 0 {
				took += time.Duration(d.backlog / free * float64(time.Second))
			}
			took = time.Duration(float64(took) / (1 - d.load(d.at)))
			if d.stall != nil {
				took += d.stall()
			}
			d.fsync = append(d.fsync, observation{d.at, took})
			d.all = append(d.all, observation{d.at, took})
			d.next = d.at + time.Duration(float64(time.Second)/float64(d.fsyncs))
		}
	}
	old, _ := slices.BinarySearchFunc(d.fsync, d.at-governor.LongTime, compareTime)
	d.fsync = d.fsync[old:]
}

func (d *disk) latencyPoint(window time.Duration) engine.LatencyPoint {
	from, _ := slices.BinarySearchFunc(d.fsync, d.at-window, compareTime)
	all := d.fsync[from:]
	p := engine.LatencyPoint{Host: "etcd-0", Window: engine.Duration(window)}
	if len(all) == 0 {
		return p
	}
	p.WALFsyncP99Seconds = nthLongest(all, len(all)-int(math.Ceil(0.99*float64(len(all))))+1).Seconds()
	p.WALFsyncBucket = &engine.LatencyBucket{Observed: uint64(len(all))}
	return p
}

func compareTime(o observation, at time.Duration) int { return cmp.Compare(o.at, at) }

// nthLongest returns how long the nth longest fsync took. It keeps only the n
// longest, because sorting all of them each second would take most of the time
// of these tests.
func nthLongest(all []observation, n int) time.Duration {
	longest := make([]time.Duration, 0, n+1) // sorted, the longest first
	for _, o := range all {
		if len(longest) == n && o.took <= longest[n-1] {
			continue
		}
		i, _ := slices.BinarySearchFunc(longest, o.took, func(a, b time.Duration) int { return cmp.Compare(b, a) })
		longest = slices.Insert(longest, i, o.took)
		longest = longest[:min(n, len(longest))]
	}
	return longest[n-1]
}

func (d *disk) takeReading() governor.Reading {
	return governor.Reading{Host: "etcd-0", Missing: d.missing(d.at), Recent: d.latencyPoint(governor.RecentTime), Window: d.latencyPoint(governor.WindowTime), Full: d.latencyPoint(governor.WindowTime), Long: d.latencyPoint(governor.LongTime)}
}

// trace is the course of a governed staging, with a tick for each sample.
type trace []tick

type tick struct {
	at       time.Duration
	knobs    governor.Knobs
	decision governor.Decision
	reading  governor.Reading
	staged   float64
}

var began = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

// governStaging runs a staging for at most that time, with a sample each second.
func (d *disk) governStaging(s governor.Settings, span time.Duration) trace {
	s.Began = began
	if s.Members == 0 {
		s.Members = 1
	}
	c := governor.New(s)
	decision := c.First()
	var all trace
	d.frozen = true
	for d.at < span {
		d.knobs = decision.Knobs
		d.simulate(time.Second)
		r := d.takeReading()
		decision = c.AddSample(began.Add(d.at), []governor.Reading{r})
		all = append(all, tick{d.at, d.knobs, decision, r, d.staged})
		if decision.Stop != "" {
			break
		}
	}
	return all
}

func (t trace) lastSample() tick { return t[len(t)-1] }

func (t trace) samplesAfter(at time.Duration) trace {
	i := slices.IndexFunc(t, func(x tick) bool { return x.at > at })
	if i < 0 {
		return nil
	}
	return t[i:]
}

func newDisk(seed int64) *disk {
	return &disk{
		bandwidth: 50 << 20, producer: 150 << 20, fsyncs: 50, base: 2 * time.Millisecond,
		load: func(time.Duration) float64 { return 0 }, missing: func(time.Duration) bool { return false },
		random: rand.New(rand.NewSource(seed)),
	}
}
