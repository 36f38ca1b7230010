package scenario

import (
	"fmt"
	"os"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// cmdSmallDisk mounts a small filesystem on a folder of the bastion. If it is
// full, the rest of the machine is not affected.
func cmdSmallDisk(ts *testscript.TestScript, neg bool, args []string) {
	requireArgs(ts, neg, args, "smalldisk DIR SIZE")
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o700))
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,size="+args[1]); err != nil {
		ts.Fatalf("mount a file system of %s at %s: %v", args[1], dir, err)
	}
	s := stageOf(ts)
	s.last = append(s.last, func() { // after the reports, whose journals may be there
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			fmt.Fprintln(os.Stderr, "unmount", dir+":", err)
		}
	})
}
