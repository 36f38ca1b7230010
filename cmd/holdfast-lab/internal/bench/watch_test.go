package bench

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writeDevice writes the files in which the kernel describes a loop device.
func writeDevice(t *testing.T, sys, name, image, stat string) {
	t.Helper()
	err := os.MkdirAll(filepath.Join(sys, name, "loop"), 0o755)
	err = errors.Join(err, os.WriteFile(filepath.Join(sys, name, "loop/backing_file"), []byte(image+"\n"), 0o644), os.WriteFile(filepath.Join(sys, name, "stat"), []byte(stat+"\n"), 0o644))
	if err != nil {
		t.Fatal(err)
	}
}

// TestWatch checks that the load begins at 0, although the device has worked
// before, and that the watch ends.
func TestWatch(t *testing.T) {
	sys := t.TempDir()
	writeDevice(t, sys, "loop1", "/lab/disk.img", "10 0 8 5 20 1 16 7")
	w := startWatch(t.Context(), sys, []string{"/lab/disk.img", "/none"})
	all, err := w.stop()
	if err != nil || len(all) == 0 || len(all[0].disks) != 2 || all[0].disks[0] != (diskCounters{}) || all[0].processors.TakenSince(all[0].processors) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestLoads checks the counters of the disk of a host, which has another device
// after a boot, and the text that tests of the governor replay.
func TestLoads(t *testing.T) {
	sys := t.TempDir()
	var d loopDevice
	if _, found := d.read(sys, "/lab/disk.img"); found {
		t.Error("a device was found")
	}
	writeDevice(t, sys, "loop1", "/lab/disk.img", "  10  0  8  5  20  1  16  7  0 0 0")
	writeDevice(t, sys, "loop2", "/dev/loop1", "0 0 0 0 0 0 0 0")
	first, found := d.read(sys, "/lab/disk.img")
	if want := (diskCounters{10, 4096, 20, 8192}); first != want || !found || d != "loop1" {
		t.Errorf("%+v, %t, %s", first, found, d)
	}
	writeDevice(t, sys, "loop1", "/lab/other.img", "0 0 0 0 0 0 0 0")
	writeDevice(t, sys, "loop3", "/lab/disk.img", "1 0 1 0 2 0 3 0")
	second, _ := d.read(sys, "/lab/disk.img")
	if want := (diskCounters{1, 512, 2, 1536}); second != want || second.countsSince(first) != want || second.plus(want).countsSince(second) != want {
		t.Errorf("%+v", second)
	}
	if err := os.WriteFile(filepath.Join(sys, "pressure"), []byte("some avg10=1.00 avg60=2.00 avg300=3.00 total=2500000\nfull avg10=0.00 total=7\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if waiting := readWaiting(filepath.Join(sys, "pressure")); waiting != 2500*time.Millisecond || readWaiting("/none") != 0 {
		t.Errorf("waiting %s", waiting)
	}
	all := []watched{{at: began, disks: []diskCounters{{}}}, {at: timeAfter(0.21), disks: []diskCounters{{readBytes: 1, writtenBytes: 2}}}, {at: timeAfter(0.69), disks: []diskCounters{{readBytes: 4}}}}
	if err := writeLoad(filepath.Join(sys, "x.load"), "A disk", all, 0); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(sys, "x.load")); err != nil || !strings.HasPrefix(string(text), "# A disk\n# From 2026-11-23T03:00:00Z on.") || !strings.HasSuffix(string(text), ".\n0\n3\n0\n4\n") {
		t.Errorf("%q, %v", text, err)
	}
}
