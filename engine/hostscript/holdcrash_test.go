package hostscript_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
	"holdfast/engine/pathtest"
)

func TestOfManyThatWantAHoldOneGetsIt(t *testing.T) {
	for _, flock := range []bool{true, false} {
		t.Run(fmt.Sprintf("flock=%v", flock), func(t *testing.T) {
			b := newBox(t)
			if !flock {
				b.withoutFlock()
			}
			var wg sync.WaitGroup
			codes := make([]int, 8)
			for i := range codes {
				wg.Go(func() { _, _, codes[i] = b.run(hostscript.HoldScript(runHold(fmt.Sprint("r", i)), hour, "", nil)) })
			}
			wg.Wait()
			winners := 0
			for i, code := range codes {
				if code == 0 {
					winners++
					if h := b.hold(); h.Run != fmt.Sprint("r", i) {
						t.Errorf("r%d won, %s has it", i, h.Run)
					}
				}
			}
			if winners != 1 {
				t.Errorf("%d winners: %v", winners, codes)
			}
		})
	}
}

// withoutFlock sets a PATH without flock.
func (b *box) withoutFlock() {
	for _, name := range []string{"sh", "mkdir", "rm", "rmdir", "date", "cat", "sync", "ln", "mv", "printf"} {
		real, err := exec.LookPath(name)
		check(b.t, err)
		check(b.t, os.Symlink(real, filepath.Join(b.root, "bin", name)))
	}
	b.path = b.root + "/bin"
}

// TestAPowerCutLeavesNoHoldOrAWholeOne kills each script at its nth command,
// for every n.
func TestAPowerCutLeavesNoHoldOrAWholeOne(t *testing.T) {
	longtest.SkipSlow(t)
	scripts := map[string]string{
		"take":    hostscript.HoldScript(runHold("r1"), hour, "", nil),
		"adopt":   hostscript.HoldScript(runHold("r1"), hour, "r0", nil),
		"fail":    hostscript.FailHoldScript(ownerOf("r0"), "reason", "step", ""),
		"release": hostscript.ReleaseScript(ownerOf("r0"), engine.Release{}),
	}
	helper := hostscript.RebootHelpers()[0]
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 1; ; n++ {
				b := newBox(t)
				b.unit(helper)
				if name != "take" {
					b.mustRun(hostscript.HoldScript(runHold("r0"), hour, "", nil))
				}
				b.killAt(n)
				_, _, code := b.run(script)
				b.path = b.root + "/bin:" + pathtest.Tools()
				h := b.hold()
				if h == nil && name != "take" && name != "release" {
					t.Fatalf("killed at command %d: the hold is gone", n)
				}
				for _, run := range []string{"r0", "r1"} {
					if h != nil && h.Run == run {
						b.mustRun(hostscript.ReleaseScript(ownerOf(run), engine.Release{}))
					}
				}
				b.mustRun(hostscript.ReleaseScript(ownerOf("r1"), engine.Release{}))
				if !b.active(helper) {
					t.Fatalf("killed at command %d: %s does not run again after the release", n, helper)
				}
				if code == 0 {
					if n < 4 {
						t.Fatalf("only %d commands were seen", n)
					}
					return
				}
			}
		})
	}
}

// killAt replaces the commands that change something by wrappers. The nth call
// of a wrapper kills the shell that called it.
func (b *box) killAt(n int) {
	dir := filepath.Join(b.root, "kill")
	check(b.t, os.MkdirAll(dir, 0o755))
	for _, name := range []string{"mkdir", "rm", "rmdir", "sync", "ln", "mv", "systemctl", "cat"} {
		real, err := exec.LookPath(name)
		if name == "systemctl" {
			real, err = b.root+"/bin/systemctl", nil
		}
		check(b.t, err)
		wrapper := fmt.Sprintf("#!/bin/sh\nprintf x >>%[1]s/count\nread -r c <%[1]s/count || :\n[ ${#c} -ne %[2]d ] || { kill -9 $PPID; exit 1; }\nexec %[3]s \"$@\"\n", dir, n, real)
		check(b.t, os.WriteFile(filepath.Join(dir, name), []byte(wrapper), 0o755))
	}
	b.path = dir + ":" + b.path
}
