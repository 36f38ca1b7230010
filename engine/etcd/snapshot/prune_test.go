package snapshot_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine/etcd/snapshot"
)

// TestPrune checks that the newest snapshots of a cluster stay, by number and age. The newest snapshot, snapshots of
// unfinished runs and other files stay at any age.
func TestPrune(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	run := func(day int) string { return fmt.Sprintf("202602%02d-120000-0123456789abcdef", day) }
	day := func(n int) time.Time { return time.Date(2026, 2, n, 12, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		name     string
		keep     int
		maxAge   time.Duration
		days     []int // days on which snapshots were taken
		running  []int // runs that are not over
		remained []int
	}{
		{"few", 3, 1000 * time.Hour, []int{1, 2, 3}, nil, []int{1, 2, 3}},
		{"too many", 2, 1000 * time.Hour, []int{1, 2, 3, 4}, nil, []int{3, 4}},
		{"too old", 10, 49 * time.Hour, []int{1, 25, 27, 28}, nil, []int{27, 28}},
		{"all too old", 10, time.Hour, []int{1, 2, 3}, nil, []int{3}},
		{"one is kept at the least", 1, time.Hour, []int{1, 2}, nil, []int{2}},
		{"of unfinished runs", 1, time.Hour, []int{1, 2, 3}, []int{1}, []int{1, 3}},
		{"made by a clock that was ahead", 2, 1000 * time.Hour, []int{1, 2, 3, 40, 41}, nil, []int{2, 3}},
		{"the age of those is not known", 3, time.Hour, []int{27, 28, 40, 41}, nil, []int{28, 41}},
		{"all of the future", 1, time.Hour, []int{40, 41}, nil, []int{41}},
		{"none", 1, time.Hour, nil, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			put := func(name string, at time.Time) {
				path := filepath.Join(dir, name)
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(path, at, at); err != nil {
					t.Fatal(err)
				}
			}
			for _, d := range c.days {
				put(snapshot.Name(run(d), "main"), day(d))
			}
			others := []string{
				snapshot.Name(run(1), "other"), snapshot.Name(run(1), "a-etcd-main"), "by-hand-etcd-main.db", "main.db",
				run(1) + ".jsonl", snapshot.Name(run(9), "main") + ".part",
			}
			for _, name := range others {
				put(name, day(1))
			}
			put(snapshot.Name(run(8), "main")+".part", day(1)) // left by a run that crashed long ago
			isOver := func(id string) bool {
				return id != run(9) && !slices.ContainsFunc(c.running, func(d int) bool { return id == run(d) })
			}
			removed, err := snapshot.Prune(dir, "main", snapshot.Retention{Keep: c.keep, MaxAge: c.maxAge, Now: now, IsOver: isOver})
			if want := len(c.days) - len(c.remained) + 1; err != nil || removed != want {
				t.Errorf("removed %d, want %d; %v", removed, want, err)
			}
			var want []string
			for _, d := range c.remained {
				want = append(want, snapshot.Name(run(d), "main"))
			}
			want = append(want, others...)
			slices.Sort(want)
			var got []string
			entries, _ := os.ReadDir(dir)
			for _, e := range entries {
				got = append(got, e.Name())
			}
			if !slices.Equal(got, want) {
				t.Errorf("remained\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
	if n, err := snapshot.Prune(filepath.Join(t.TempDir(), "none"), "main", snapshot.Retention{}); n != 0 || err != nil {
		t.Error(n, err)
	}
}

// TestList checks that List returns only the snapshots of the cluster, the newest first.
func TestList(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	older, newer := snapshot.Name("20260102-120000-0a", "main"), snapshot.Name("20260101-120000-0b", "main")
	for i, name := range []string{newer, older, snapshot.Name("20260101-120000-0b", "other"), "main.db", older + ".part"} {
		path, at := filepath.Join(dir, name), now.Add(-time.Duration(i)*time.Hour)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := snapshot.List(dir, "main")
	if err != nil || !slices.Equal(got, []string{filepath.Join(dir, newer), filepath.Join(dir, older)}) {
		t.Error(got, err)
	}
	if got, err := snapshot.List(filepath.Join(dir, "none"), "main"); err != nil || len(got) != 0 {
		t.Error(got, err)
	}
}
