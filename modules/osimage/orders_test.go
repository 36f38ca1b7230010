package osimage

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/modules/moduletest"
)

// TestEveryOrderToReboot checks that the scripts of this folder are the only ones that order a reboot, and that each
// order has the kind of the plan, whatever somebody else has prepared on the host.
func TestEveryOrderToReboot(t *testing.T) {
	order := regexp.MustCompile(`systemctl (--\S+ )*(reboot|kexec|soft-reboot|start reboot)|SuccessAction=(reboot|soft-reboot|kexec)|\bshutdown -r|kexec -e`)
	allowed := []string{"kexecorder.sh", "lib.sh", "softorder.sh"}
	var found []string
	for _, top := range []string{"../../engine", "..", "../../cmd/holdfast"} {
		err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
			isScript := strings.HasSuffix(path, ".sh") || strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go")
			if err != nil || e.IsDir() || !isScript {
				return err
			}
			text, err := os.ReadFile(path)
			for line := range strings.Lines(string(text)) {
				code, _, _ := strings.Cut(strings.TrimSpace(line), "// ")
				if !strings.HasPrefix(code, "#") && order.MatchString(code) {
					found = append(found, path)
					if filepath.Dir(path) != "../osimage/sh" || !slices.Contains(allowed, filepath.Base(path)) {
						t.Errorf("%s orders a reboot: %s", path, code)
					}
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(found) < len(allowed) {
		t.Errorf("only %q order reboots", found)
	}
	b := newKexecHost(t)
	b.Want(b.stage(softUpdate), 0, "staged and locked")
	f := b.gatherFacts(softUpdate)
	for _, kind := range []engine.RebootKind{"", engine.FullReboot, engine.SoftReboot, engine.KexecReboot} {
		target := moduletest.Target(softUpdate, f)
		target.Reboot, target.Pool.OnFailure = kind, engine.RollbackFailed
		changes, err := findChanges(softUpdate, f)
		b.Check(err)
		steps := planSteps(target, changes)
		orders := 0
		for _, s := range slices.Concat(steps.Reboot, steps.Rollback, PlainReboot(target)) {
			if !s.Reboots {
				continue
			}
			orders++
			if text := s.Do.Exec.Script.String(); !strings.Contains(text, "\nexport SYSTEMCTL_SKIP_AUTO_SOFT_REBOOT=1 SYSTEMCTL_SKIP_AUTO_KEXEC=1\n") {
				t.Errorf("%q, %s: systemctl may order another kind of reboot:\n%s", kind, s.Name, text)
			}
		}
		if orders != 3 {
			t.Errorf("%q: %d orders", kind, orders)
		}
	}
}

// TestNoHereDocuments: a bash before 5.1 writes a here-document to /tmp. If that is full, the function that reads it does nothing, and a check
// may find nothing wrong.
func TestNoHereDocuments(t *testing.T) {
	names, err := filepath.Glob("sh/*.sh")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		if text, err := os.ReadFile(name); err != nil || strings.Contains(string(text), "<<") {
			t.Errorf("%s has a here-document (%v)", name, err)
		}
	}
}
