package longtest

import (
	"os"
	"runtime/debug"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	memoryFolder = "/dev/shm"
	enoughMemory = 1 << 30 // bytes; the tests of a package use less
)

// TempInMemory puts the temporary folders of tests into memory if the machine has a folder there. Tests make and remove
// many thousands of small files, and wait until some of them are on the disk. TMPDIR overrides it. Call it in TestMain, but
// not where the product itself judges paths of the test: it refuses to configure files below /dev.
func TempInMemory() {
	if os.Getenv("TMPDIR") == "" && isMemoryUsable() {
		_ = os.Setenv("TMPDIR", memoryFolder) // no error is possible with these values
	}
}

// DirInMemory returns a temporary folder of the test in memory, if the machine has a folder there, for data that a test
// waits to have on the disk. It may be used where TempInMemory may not. TMPDIR overrides it.
func DirInMemory(t testing.TB) string {
	t.Helper()
	if os.Getenv("TMPDIR") != "" || !isMemoryUsable() {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memoryFolder, "holdfast-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func isMemoryUsable() bool {
	var fs unix.Statfs_t
	return unix.Statfs(memoryFolder, &fs) == nil && fs.Type == unix.TMPFS_MAGIC && fs.Flags&unix.ST_NOEXEC == 0 &&
		fs.Bavail*uint64(fs.Bsize) >= enoughMemory && unix.Access(memoryFolder, unix.W_OK|unix.X_OK) == nil
}

// CollectRarely turns the garbage collector down, because the objects of a test are few and do not live long. Call it in
// TestMain.
func CollectRarely() { debug.SetGCPercent(800) }
