package bench

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/cmd/holdfast-lab/internal/disk"
	"holdfast/engine"
)

func (k key) withWay(letter string) key { k.Way = letter; return k }

// awayFor returns a run without the member for that time.
func awayFor(letter string, round int, c conditions, away time.Duration) run {
	return run{
		key: key{Way: letter, Round: round, conditions: c}, Host: "etcd-0", Away: engine.Duration(away), Took: engine.Duration(time.Minute),
		Members: []member{{Host: "etcd-0", Idle: histograms{histogramWithin(4 * time.Millisecond)}, Staging: histograms{histogramWithin(8 * time.Millisecond)}}, {Host: "etcd-1", Staging: histograms{histogramWithin(4 * time.Millisecond)}}},
	}
}

func tableText(t *testing.T, runs ...run) string {
	t.Helper()
	var out strings.Builder
	if err := printTables(&out, runs); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func expectLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, want := range lines {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestTable(t *testing.T) {
	var runs []run
	for i, away := range []time.Duration{time.Second, 4 * time.Second, 2 * time.Second, 9 * time.Second} {
		runs = append(runs, awayFor("d", i+1, slow, away), awayFor("a", i+1, slow, 4*away), awayFor("d", i+1, fast, away))
	}
	runs[0].Clients.Failed, runs[0].Clients.Errors = 1, []string{"no leader"}
	expectLines(t, tableText(t, runs...),
		"An update of 500 MiB of one of three etcd members (the leader), disks of 50 MB/s, 500 IOPS.", "disks of 200 MB/s, 2000 IOPS.",
		"(a) naive", "(d) governed, from a server",
		"3.00 s (1.00 s, 9.00 s)", // the median of four is between the middle two
		"share within 8.0 ms", "100.0 %", "its bucket: up to",
		"(d) kept: p99 of WAL fsync at most 10 ms and of backend commit at most 25 ms, or 1.25 times the idle p99 if that is more: 50 MB/s, 500 IOPS: median 0.53 of the limit, best run 0.53, worst run 0.53; the histogram buckets allow 0.40 to 0.80; 200 MB/s, 2000 IOPS: median 0.53",
		"(d) missed: no leader lost and no write failed: 50 MB/s, 500 IOPS: at worst 0 leaders lost and 1 writes failed; 200 MB/s, 2000 IOPS: at worst 0 leaders lost and 0 writes failed",
		"(d) missed: without the member for at most a fifth of the time of a naive update: 50 MB/s, 500 IOPS: 3.00 s, naive 12 s\n",
	)
}

// TestFailedRunsMissEachGoal checks that the table tells how many runs failed and
// why, and that a governed way with a failed run keeps no goal.
func TestFailedRunsMissEachGoal(t *testing.T) {
	failed := run{key: key{Way: "d", Round: 2, conditions: slow}, Failed: "the governor stopped the staging", Failure: failedByAbort}
	never := run{key: key{Way: "d", Round: 3, conditions: slow}, Failed: "no boot", Failure: failedOtherwise, Unmeasured: true}
	repeated := awayFor("r", 1, slow, time.Second)
	repeated.Repeated = "no SSH"
	text := tableText(t, repeated, awayFor("d", 1, slow, time.Second), failed, never)
	expectLines(t, text,
		"1 (abort, 1 more did not begin)",
		"(d) run 2, 50 MB/s, 500 IOPS failed: the governor stopped the staging\n",
		"(d) run 3, 50 MB/s, 500 IOPS failed: no boot\n",
		"(r) run 1, 50 MB/s, 500 IOPS was repeated, because its hosts were not ready: no SSH\n",
		"(d) missed: p99 of WAL fsync at most 10 ms and of backend commit at most 25 ms, or 1.25 times the idle p99 if that is more: 1 of 2 runs failed; of the others: median 0.53 of the limit",
		"(d) missed: no leader lost and no write failed: 1 of 2 runs failed",
		"(d) missed: without the member at most 2 s longer than in a bare reboot: 1 of 2 runs failed",
	)
	if strings.Contains(text, "kept") {
		t.Error(text)
	}
	expectLines(t, tableText(t, failed), "(d) missed: p99 of WAL fsync at most 10 ms and of backend commit at most 25 ms, or 1.25 times the idle p99 if that is more: 1 of 1 runs failed\n")
	expectLines(t, tableText(t, never), "(d) not decided: p99 of WAL fsync at most 10 ms and of backend commit at most 25 ms, or 1.25 times the idle p99 if that is more: no run was measured\n")
	undecided := awayFor("e", 1, slow, time.Second)
	undecided.Members[0].Staging[walFsync] = histogramWithin(16 * time.Millisecond)
	expectLines(t, tableText(t, undecided), "(e) not decided: p99 of WAL fsync at most 10 ms and of backend commit at most 25 ms, or 1.25 times the idle p99 if that is more: the histogram buckets are too wide to decide: median 1.07 of the limit")
	second := awayFor("e", 2, slow, time.Second)
	expectLines(t, tableText(t, undecided, second, second), " 100.0 % (100.0 %, 98.5 %)") // more is better
	if text := describeOthers(1.4, 1.3); !strings.Contains(text, "1.30") {
		t.Error(text)
	}
}

// TestOrder checks that no way is always first, and that each way has the same
// number of runs.
func TestOrder(t *testing.T) {
	s := Settings{Ways: "rab", Runs: 3, Bytes: 1 << 20, Speeds: []disk.Speed{slow.Disk, fast.Disk}}
	var order strings.Builder
	for _, k := range s.listRuns() {
		order.WriteString(k.Way)
	}
	if order.String() != "rabrab"+"abrabr"+"brabra" {
		t.Error(order.String())
	}
	if all := s.listRuns(); all[2].Disk != slow.Disk || all[3].Disk != fast.Disk || all[17].Round != 3 {
		t.Errorf("%+v", all)
	}
	done := []run{{key: s.listRuns()[0]}, {key: s.listRuns()[1], Failed: "abort"}, {key: s.listRuns()[2], Unmeasured: true}}
	if missing := s.listMissing(done); len(missing) != 16 || missing[0] != s.listRuns()[2] {
		t.Errorf("%d, %+v", len(missing), missing[0])
	}
	for _, wrong := range []Settings{
		{Ways: "x"},
		{Ways: "rr"},
		{Ways: "", Runs: 1},
		{Ways: "r", Bytes: 1 << 20},
		{Ways: "r", Runs: 1, Bytes: 1 << 20},
		{Ways: "r", Runs: 1, Bytes: 1 << 20, Speeds: []disk.Speed{{}}},
		{Ways: "r", Runs: 1, Bytes: 1 << 20, Speeds: []disk.Speed{slow.Disk, slow.Disk}},
		{Ways: "r", Runs: 1, Bytes: 1 << 20, Speeds: []disk.Speed{{BytesPerSecond: 1e18, IOPS: 500}}},
		{Ways: "r", Runs: 1, Bytes: 1 << 20, Speeds: []disk.Speed{{BytesPerSecond: 50e6, IOPS: 1 << 32}}},
		{Ways: "r", Runs: 1e9, Bytes: 1 << 20, Speeds: []disk.Speed{slow.Disk}},
		{Ways: "r", Runs: 1, Bytes: 1 << 60, Speeds: []disk.Speed{slow.Disk}},
	} {
		if wrong.Check() == nil {
			t.Errorf("no error for %+v", wrong)
		}
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

func TestEstimate(t *testing.T) {
	s := Settings{Ways: "rabcde", Runs: 3, Bytes: 500 << 20, Speeds: []disk.Speed{slow.Disk, fast.Disk}}
	if all := estimateTime(s.listRuns(), nil); all < 2*time.Hour || all > 4*time.Hour {
		t.Errorf("a whole series takes %s", formatEstimate(all))
	}
	d := key{Way: "d", conditions: slow}
	done := []run{{key: d, Took: engine.Duration(10 * time.Minute)}, {key: d, Took: engine.Duration(20 * time.Minute), Failed: "abort"}, {key: d, Took: engine.Duration(time.Hour), Unmeasured: true}}
	if got := estimateTime([]key{d, d, d.withWay("r")}, done); got != 30*time.Minute+90*time.Second {
		t.Errorf("%s", got)
	}
	if text := formatEstimate(125 * time.Minute); text != "2 h 05 min" {
		t.Error(text)
	}
}

// TestResultsCanBeContinued checks that a series that was interrupted continues
// with the runs that its results do not have, also after the bench was killed
// while it wrote.
func TestResultsCanBeContinued(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results [1]")
	s := Settings{Ways: "rd", Runs: 2, Bytes: slow.Bytes, Speeds: []disk.Speed{slow.Disk}}
	results, err := CreateResults(dir, s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := CreateResults(dir, s); err == nil {
		t.Error("no error for a folder that has results")
	}
	b := &Bench{Settings: s, Out: io.Discard, Results: results}
	ctx, cancel := context.WithCancel(t.Context())
	measured := 0
	err = b.measureAll(ctx, s.listRuns(), nil, func(_ context.Context, k key) (run, error) {
		if measured++; measured == 3 {
			cancel()
			return run{key: k, Failed: "killed"}, nil
		}
		return awayFor(k.Way, k.Round, k.conditions, time.Second), nil
	})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "--resume "+dir) {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "runs-1.jsonl"), []byte(`{"way":"d","rou`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := results.Close(); err != nil {
		t.Fatal(err)
	}
	results, again, err := OpenResults(dir)
	if err != nil || again.Ways != s.Ways || !slices.Equal(again.Speeds, s.Speeds) {
		t.Fatalf("%+v, %v", again, err)
	}
	done, err := results.readRuns()
	if missing := s.listMissing(done); err != nil || len(done) != 2 || len(missing) != 2 || missing[0] != s.listRuns()[2] {
		t.Fatalf("%+v, %v", done, err)
	}
	if r := awayFor("r", 1, slow, time.Second); done[0].String() != r.String() || done[0].latencyExcess() != r.latencyExcess() {
		t.Errorf("%s\n%s", done[0], r)
	}
	var out strings.Builder
	if err := PrintTables(&out, results); err != nil {
		t.Fatal(err)
	}
	expectLines(t, out.String(), "(r) bare reboot", "(d) kept: p99 of WAL fsync", "runs-1.jsonl: the last line is incomplete and does not count")
}

// TestTableWithoutRuns checks that a series without results says so.
func TestTableWithoutRuns(t *testing.T) {
	dir := t.TempDir()
	results, err := CreateResults(dir, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := PrintTables(&out, results); err != nil || out.String() != dir+" has no results of runs; --resume "+dir+" measures them\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// TestSeriesGoesOnAfterFailures checks that failed runs are written, too, and end
// with an error.
func TestSeriesGoesOnAfterFailures(t *testing.T) {
	s := Settings{Ways: "rd", Runs: 1, Bytes: slow.Bytes, Speeds: []disk.Speed{slow.Disk}}
	results, err := CreateResults(t.TempDir(), s)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	b := &Bench{Settings: s, Out: &out, Results: results}
	err = b.measureAll(t.Context(), s.listRuns(), nil, func(_ context.Context, k key) (run, error) {
		return run{key: k, Failed: "no boot", Unmeasured: true}, nil
	})
	if !errors.Is(err, errFailedRuns) {
		t.Error(err)
	}
	expectLines(t, out.String(), "(r) run 1, 50 MB/s, 500 IOPS: failed: no boot\n", "0 runs are left, about 0 h 00 min")
	broken := 0
	err = b.measureAll(t.Context(), slices.Repeat(s.listRuns(), 4), nil, func(_ context.Context, k key) (run, error) {
		broken++
		return run{key: k, Failed: "no boot", Unmeasured: true}, nil
	})
	if err == nil || !strings.Contains(err.Error(), "3 runs in a row did not begin") || broken != 6 {
		t.Errorf("%d attempts, %v", broken, err)
	}
	if err := results.appendRun(awayFor("r", 1, slow, time.Second)); err != nil {
		t.Fatal(err)
	}
	done, err := results.readRuns()
	if err != nil || len(done) != 2 || done[0].Unmeasured || !done[1].Unmeasured {
		t.Errorf("%+v, %v", done, err)
	}
	if err := results.Close(); err != nil {
		t.Fatal(err)
	}
}
