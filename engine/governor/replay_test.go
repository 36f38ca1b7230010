package governor_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/governor"
)

// recordedLoad has the bytes that other programs read and write on a disk in
// each loadInterval.
type recordedLoad []float64

const (
	loadInterval = 200 * time.Millisecond
	mostLoad     = 0.98 // share of a disk that a load takes at most, because a disk is shared fairly
)

// readLoad reads a recorded load: after lines that begin with #, each line has
// the bytes of one interval. "holdfast-lab bench etcd-io" writes such files.
func readLoad(t *testing.T, path string) recordedLoad {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var l recordedLoad
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		bytes, err := strconv.ParseFloat(lines.Text(), 64)
		if err != nil || bytes < 0 {
			t.Fatalf("%s: %q, %v", path, lines.Text(), err)
		}
		l = append(l, bytes)
	}
	if len(l) < 100 {
		t.Fatalf("%s has only %d intervals", path, len(l))
	}
	return l
}

// replayOn returns the share that the load takes of a disk of that bandwidth,
// and how long the load lasts there. Bytes that the disk cannot take in their
// interval are left for the next one.
func (l recordedLoad) replayOn(bandwidth float64) (share func(time.Duration) float64, span time.Duration) {
	var shares []float64
	most, left := bandwidth*loadInterval.Seconds(), 0.0
	for i := 0; i < len(l) || left > 0; i++ {
		if i < len(l) {
			left += l[i]
		}
		taken := min(left, mostLoad*most)
		left -= taken
		shares = append(shares, taken/most)
	}
	share = func(at time.Duration) float64 {
		if i := int(at / loadInterval); i < len(shares) {
			return shares[i]
		}
		return 0
	}
	return share, time.Duration(len(shares)) * loadInterval
}

// replayLoads runs a test with each recorded load on disks of different speed.
func replayLoads(t *testing.T, test func(t *testing.T, d *disk, span time.Duration)) {
	files, err := filepath.Glob("testdata/*.load")
	if err != nil || len(files) < 3 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		load := readLoad(t, file)
		for _, megabytes := range []float64{30, 50, 200} {
			name, _ := strings.CutSuffix(filepath.Base(file), ".load")
			t.Run(name+" on "+strconv.Itoa(int(megabytes))+" MB per s", func(t *testing.T) {
				t.Parallel()
				d := newDisk(1)
				d.bandwidth = megabytes * 1e6
				var span time.Duration
				d.load, span = load.replayOn(d.bandwidth)
				test(t, d, span)
			})
		}
	}
}

// isAtFloor reports whether the staging has the slowest pace, or is paused.
func (x tick) isAtFloor() bool {
	floor := governor.New(governor.Settings{Common: limits}).First().Safe
	return x.knobs.Slice == 0 || x.knobs == floor
}

func (x tick) isOver(limit time.Duration) bool {
	return x.reading.Window.WALFsyncP99Seconds > limit.Seconds()
}

// TestReplayedLoads checks that the controller keeps the floor while recorded
// loads use the disk, and that it converges: after a minute of low load, three
// quarters of the windows are within the limit, and after the load the staging
// is much faster than at the floor.
func TestReplayedLoads(t *testing.T) {
	const rest = 3 * time.Minute
	replayLoads(t, func(t *testing.T, d *disk, span time.Duration) {
		s := d.idleSettings()
		all := d.governStaging(s, span+rest)
		var pause, ran time.Duration
		calm, over := 0, 0
		for i, x := range all {
			if x.knobs.Slice == 0 {
				pause += time.Second
			} else {
				ran, pause = ran+time.Second, 0
			}
			if low := x.knobs; pause > 10*time.Second || low.Rate < governor.FloorRate || low.Slice > 0 && (low.Slice < time.Millisecond || low.Pause > time.Second) {
				t.Fatalf("at %s below the floor: %+v, paused for %s", x.at, low, pause)
			}
			if i > 60 && d.meanLoad(x.at-governor.LongTime, x.at) < 0.1 {
				calm++
				if x.isOver(s.Common.WALFsync) {
					over++
				}
			}
		}
		if share := ran.Seconds() / all.lastSample().at.Seconds(); share < 0.45 {
			t.Errorf("it ran for %.2f of the time", share)
		}
		if calm < 60 || over > calm/4 {
			t.Errorf("of %d calm windows %d are over the limit of %s", calm, over, s.Common.WALFsync)
		}
		end := all.samplesAfter(span + rest - time.Minute)
		staged, floor := end.lastSample().staged-end[0].staged, governor.FloorShare()*d.producer*float64(len(end)-1)
		if staged < 4*floor {
			t.Errorf("staged %.1f MB in the last minute, the floor is %.1f", staged/1e6, floor/1e6)
		}
	})
}

func (d *disk) meanLoad(from, to time.Duration) float64 {
	sum := 0.0
	for at := from; at < to; at += loadInterval {
		sum += d.load(at)
	}
	return sum / float64((to-from)/loadInterval)
}

// TestReplayedLoadsEndAtTheDeadline checks the deadline under recorded loads.
func TestReplayedLoadsEndAtTheDeadline(t *testing.T) {
	replayLoads(t, func(t *testing.T, d *disk, _ time.Duration) {
		s := d.idleSettings()
		s.Deadline = began.Add(100 * time.Second)
		if last := d.governStaging(s, 5*time.Minute).lastSample(); last.decision.Stop != engine.StopDeadline || last.at != 100*time.Second {
			t.Errorf("%s: %+v", last.at, last.decision)
		}
	})
}

// TestReplayedLoadsAbort checks that a staging under recorded loads stops if the
// limits are exceeded for abort_after, and never before it was at the floor for
// this time.
func TestReplayedLoadsAbort(t *testing.T) {
	const cutting = time.Minute // the controller needs less to reach the floor
	stopped := make(chan bool, 1000)
	t.Run("all", func(t *testing.T) {
		replayLoads(t, func(t *testing.T, d *disk, span time.Duration) {
			s := d.idleSettings()
			s.AbortAfter = 20 * time.Second
			all := d.governStaging(s, span)
			var floor, over time.Duration
			for _, x := range all {
				floor, over = floor+time.Second, over+time.Second
				if !x.isAtFloor() {
					floor = 0
				}
				if !x.isOver(s.Common.WALFsync) {
					over = 0
				}
				if over > s.AbortAfter+cutting {
					t.Fatalf("at %s it continues, over the limit for %s", x.at, over)
				}
			}
			x := all.lastSample().decision
			stopped <- x.Stop == engine.StopLatency
			if x.Stop != "" && (x.Stop != engine.StopLatency || floor < s.AbortAfter || x.Over.P99 <= x.Over.Limit) {
				t.Errorf("at %s, at the floor for %s: %+v", all.lastSample().at, floor, x)
			}
		})
	})
	close(stopped)
	stops, all := 0, 0
	for s := range stopped {
		all++
		if s {
			stops++
		}
	}
	if stops == 0 || stops == all {
		t.Errorf("%d of %d stopped; the loads should show both", stops, all)
	}
}
