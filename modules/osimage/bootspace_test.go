package osimage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/longtest"
	"holdfast/modules/moduletest"
)

// TestKernelThatDoesNotFitIntoBoot checks the space in /boot before a reboot is ordered: the
// kernel and the initramfs of the staged OS must fit, unless /boot has them already or ostree
// frees the space itself.
func TestKernelThatDoesNotFitIntoBoot(t *testing.T) {
	const kernelSize = 2 << 10 // bytes; the initramfs is as large
	for name, c := range map[string]struct {
		version string
		free    int               // KiB
		boot    map[string]string // folders of kernels in /boot, with the kernel of each
		pinned  bool
		refused bool
	}{
		"room":                              {"2022.7", 1028, nil, false, false},
		"no room":                           {"2022.7", 1027, nil, false, true},
		"no room, and nothing else known":   {"2025.2", 1027, nil, false, true},
		"the same kernel":                   {"2022.7", 0, map[string]string{"lab-aa": "new"}, false, false},
		"another kernel of the same size":   {"2022.7", 0, map[string]string{"lab-aa": "odd"}, false, true},
		"ostree frees the rollback":         {"2025.2", 1027, map[string]string{"lab-aa": "odd", "lab-bb": "odd"}, false, false},
		"old ostree frees nothing":          {"2022.7", 1027, map[string]string{"lab-aa": "odd", "lab-bb": "odd"}, false, true},
		"ostree keeps the booted kernel":    {"2025.2", 1027, map[string]string{"lab-bb": "odd"}, false, true},
		"ostree keeps a pinned deployment":  {"2025.2", 1027, map[string]string{"lab-aa": "odd", "lab-bb": "odd"}, true, true},
		"a folder of another boot software": {"2022.7", 1028, map[string]string{"efi-x": ""}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			longtest.SkipOthers(t, name, "room", "no room", "the same kernel", "ostree frees the rollback")
			t.Parallel()
			b := moduletest.NewBox(t)
			write := func(path, kernel string) {
				if kernel == "" {
					return
				}
				b.Mkdir(filepath.Dir(path))
				text := strings.Repeat(kernel[:1], kernelSize)
				b.Check(os.WriteFile(filepath.Join(b.Root, path), []byte(text), 0o600))
			}
			const deploy = "ostree/deploy/lab/deploy/" + moduletest.V2 + ".0/usr/lib/modules/6.1/"
			write(deploy+"vmlinuz", "new")
			write(deploy+"initramfs.img", "new")
			b.Mkdir("boot/ostree")
			for dir, kernel := range c.boot {
				write("boot/ostree/"+dir+"/vmlinuz-6.1", kernel)
				write("boot/ostree/"+dir+"/initramfs-6.1.img", kernel)
			}
			b.Write("proc/cmdline", "BOOT_IMAGE=/x ostree=/ostree/boot.1/lab/bb/0 quiet")
			b.Write("run/ostree/staged-deployment", "staged")
			b.Mkdir("run/holdfast")
			b.Write("free", fmt.Sprint(c.free))
			b.Write("ostree-version", c.version)
			status := ""
			if c.pinned {
				status = "    Pinned: yes"
			}
			script := "set -eu\nkernels=/boot/ostree deploys=/ostree/deploy digest=" + moduletest.V2 + " args= staged=" + moduletest.V2 + ".0 status='" + status + "'\n"
			for i := range 2 { // the second time, the note of the first one counts
				out := b.Run(script + libScript + bootSpaceScript + "staged=" + moduletest.V2 + ".0\ncheck_boot stage\n")
				want := 0
				if c.refused {
					want = 77
				}
				if out.Code != want || c.refused != strings.Contains(out.Stderr, "are needed for the kernel") {
					t.Errorf("check %d: exit status %d, %q", i, out.Code, out.Stderr)
				}
			}
			lacks := bootLacks(b.Run("cat /run/holdfast/boot-needs\nsha256sum /run/ostree/staged-deployment\ndf -Pk /boot/ostree").Stdout)
			if (lacks > 0) != c.refused {
				t.Errorf("lacks %d bytes", lacks)
			}
		})
	}
}

func TestNoOtherRebootWhileBootIsTheSame(t *testing.T) {
	failed := &engine.Hold{Run: "r1", Reason: "no space", NotBooted: &engine.NotBooted{OS: moduletest.V2, BootState: "s1"}}
	u := osUpdate{digest: moduletest.V2}
	for name, c := range map[string]struct {
		facts engine.Facts
		want  bool
	}{
		"the same":                {engine.Facts{Hold: failed, BootState: "s1"}, true},
		"ended by force":          {engine.Facts{Unproven: failed, BootState: "s1"}, true},
		"changed":                 {engine.Facts{Hold: failed, BootState: "s2"}, false},
		"not known":               {engine.Facts{Hold: failed}, false},
		"no failure":              {engine.Facts{Hold: &engine.Hold{}, BootState: "s1"}, false},
		"another OS":              {engine.Facts{Hold: &engine.Hold{NotBooted: &engine.NotBooted{OS: moduletest.V3, BootState: "s1"}}, BootState: "s1"}, false},
		"staged, and no room":     {engine.Facts{BootLacksBytes: 1, Deployments: []engine.Deployment{{Digest: moduletest.V2, Staged: true}}}, true},
		"another staged, no room": {engine.Facts{BootLacksBytes: 1, Deployments: []engine.Deployment{{Digest: moduletest.V3, Staged: true}}}, false},
	} {
		if err := bootProblem(u, c.facts); (err != nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
