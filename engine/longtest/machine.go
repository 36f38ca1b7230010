package longtest

import (
	"os"
	"runtime/debug"

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
	var fs unix.Statfs_t
	switch {
	case os.Getenv("TMPDIR") != "", unix.Statfs(memoryFolder, &fs) != nil, fs.Type != unix.TMPFS_MAGIC:
	case fs.Flags&unix.ST_NOEXEC != 0, fs.Bavail*uint64(fs.Bsize) < enoughMemory, unix.Access(memoryFolder, unix.W_OK|unix.X_OK) != nil:
	default:
		_ = os.Setenv("TMPDIR", memoryFolder) // no error is possible with these values
	}
}

// CollectRarely turns the garbage collector down, because the objects of a test are few and do not live long. Call it in
// TestMain.
func CollectRarely() { debug.SetGCPercent(800) }
