package osimage

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/longtest"
	"holdfast/modules/moduletest"
)

// imageSites are the names of the hosts that fetch images.
var imageSites = []string{"rpm-ostree image", "rpm-ostree signed image, layered", "bootc", "bootc 1.2", "bootc 1.9", "bootc on ostree 2022.7"}

// fromBastion returns the desired state with the bastion as the source of its OS.
func fromBastion(d engine.Desired) engine.Desired {
	source := *d.OS
	source.Source = engine.BastionSource
	d.OS = &source
	return d
}

func (b *osHost) readSeen(path string) string {
	text, _ := os.ReadFile(filepath.Join(b.Root, "seen", path))
	return string(text)
}

const theirs = "unqualified-search-registries = ['quay.io']"

// TestAnImageComesFromTheBastion checks that the tool fetches the image under its own name through
// a port of the host's loopback. The staged deployment must not contain the port, and the
// configuration of the host must not change.
func TestAnImageComesFromTheBastion(t *testing.T) {
	names := imageSites
	if !longtest.Slow() {
		names = []string{"rpm-ostree image", "bootc"}
	}
	onSites(t, names, func(b *osHost, s site, d engine.Desired) {
		b.Write("etc/containers/registries.conf.d/theirs.conf", theirs)
		d = fromBastion(d)
		step := b.steps(d).Stage[0].Do.Exec
		if step.Content == nil || step.Content.Image != d.OS.Digest() || step.Content.Commit != "" || !strings.HasPrefix(step.Content.Have, "sha256:") {
			b.T.Fatalf("content %+v", step.Content)
		}
		b.Want(b.Run("port=4711\n"+step.Script.String()), 0, "staged and locked: "+d.OS.Digest())
		for path, want := range map[string]string{
			"registries.conf.d/zz-holdfast.conf": "[[registry]]\nprefix = 'quay.io/acme/os'\nlocation = '127.0.0.1:4711/os'\ninsecure = true\n",
			"registries.d/zz-holdfast.yaml":      "docker:\n  127.0.0.1:4711:\n    use-sigstore-attachments: true\n",
			"registries.conf.d/theirs.conf":      theirs + "\n",
		} {
			if got := b.readSeen(path); got != want {
				b.T.Errorf("the tool saw %q in %s, want %q", got, path, want)
			}
		}
		for _, line := range s.logs {
			if !strings.Contains(b.Log(), line) {
				b.T.Errorf("no %q in\n%s", line, b.Log())
			}
		}
		b.checkNoMirror()
	})
}

// checkNoMirror checks that no file on the host contains the port.
func (b *osHost) checkNoMirror() {
	b.T.Helper()
	for _, dir := range []string{"etc", "ostree", "run/systemd", "staged", "run/holdfast/registries"} {
		if out, err := exec.Command("grep", "-rE", "4711|zz-holdfast", filepath.Join(b.Root, dir)).Output(); err == nil {
			b.T.Errorf("left in %s: %s", dir, out)
		}
	}
}

// TestAFailedFetchLeavesNoMirror checks that neither a failure nor a kill leaves a configuration
// with the port.
func TestAFailedFetchLeavesNoMirror(t *testing.T) {
	onSites(t, []string{"rpm-ostree image", "bootc"}, func(b *osHost, _ site, d engine.Desired) {
		longtest.SkipOthers(b.T, d.OS.Driver, "rpm-ostree")
		d = fromBastion(d)
		script := "port=4711\n" + b.steps(d).Stage[0].Do.Exec.Script.String()
		b.Write("pull-fails", "error: reading manifest: connection refused")
		b.Want(b.Run(script), 1, "connection refused")
		b.checkNoMirror()
		killed := strings.NewReplacer("write_registries\n", "write_registries; trap - EXIT; exit 137\n", "write_registries || return 1", "write_registries; trap - EXIT; exit 137").Replace(script) // like a kill: no trap runs
		if killed == script {
			b.T.Fatal("the script has no such line")
		}
		b.Remove("pull-fails")
		b.Want(b.Run(killed), 137, "is not staged")
		if d.OS.Driver == "rpm-ostree" { // bootc has its own namespace, and no other process reads the folder
			b.checkNoMirror()
		}
		b.Want(b.Run(script), 0, "staged and locked")
		b.checkNoMirror()
	})
}

// TestAKilledStagingOfBootcLeavesNoLock checks that a killed staging removes its lock. The lock would also hold back the
// next deployment, which a person may stage.
func TestAKilledStagingOfBootcLeavesNoLock(t *testing.T) {
	onSites(t, []string{"bootc"}, func(b *osHost, _ site, d engine.Desired) {
		script := b.steps(d).Stage[0].Do.Exec.Script.String()
		const locks = "\n\t: >\"$lockfile\"\n"
		if strings.Count(script, locks) < 1 {
			b.T.Fatal("the script does not lock")
		}
		b.Want(b.Run(strings.Replace(script, "if ! ${mirrored:+run_with_registries} bootc", "trap - EXIT; exit 137; if ! bootc", 1)), 137, "is not staged")
		if b.Exists("run/ostree/staged-deployment-locked") {
			b.T.Error("the lock is left")
		}
		b.Want(b.Run(script), 0, "staged and locked")
	})
}

// TestBoundImagesThatCannotBePulled: bootc fails after it has staged the OS. The OS is not complete, so nothing stays staged.
func TestBoundImagesThatCannotBePulled(t *testing.T) {
	onSites(t, []string{"bootc"}, func(b *osHost, _ site, d engine.Desired) {
		b.Write("bound-fails", "error: pulling bound image quay.io/agent: connection refused")
		b.Want(b.stage(d), 1, "pulling bound image quay.io/agent: connection refused")
		if b.Exists("staged") || b.Exists("run/ostree/staged-deployment-locked") {
			b.T.Errorf("it is staged: %+v", b.gatherFacts(d).Deployments)
		}
		b.Remove("bound-fails")
		b.Want(b.stage(d), 0, "staged and locked")
	})
}

// TestABusyDaemonFetchesNothing checks that a running daemon is neither used nor stopped: it cannot
// use the port, and it may work for a person.
func TestABusyDaemonFetchesNothing(t *testing.T) {
	onSites(t, []string{"rpm-ostree image"}, func(b *osHost, _ site, d engine.Desired) {
		b.Write("busy", "")
		b.Want(b.Run("port=4711\n"+b.steps(fromBastion(d)).Stage[0].Do.Exec.Script.String()), 1, "rpm-ostree is busy")
		if strings.Contains(b.Log(), "\nsystemctl stop rpm-ostreed") {
			b.T.Errorf("a busy daemon was stopped:\n%s", b.Log())
		}
		b.Remove("busy")
		b.checkNoMirror()
		b.Want(b.stage(d), 0, "staged and locked") // without the bastion, the host fetches as configured
	})
}

// TestAConfigurationThatCannotBeCopiedIsNotLeftOut checks that the tool does not fetch if a part of
// the host's configuration cannot be copied.
func TestAConfigurationThatCannotBeCopiedIsNotLeftOut(t *testing.T) {
	onSites(t, []string{"rpm-ostree image", "bootc"}, func(b *osHost, _ site, d engine.Desired) {
		longtest.SkipOthers(b.T, d.OS.Driver, "bootc")
		b.Mkdir("etc/containers/registries.d")
		b.Check(os.Symlink("gone", filepath.Join(b.Root, "etc/containers/registries.d/dangling.yaml")))
		b.Want(b.Run("port=4711\n"+b.steps(fromBastion(d)).Stage[0].Do.Exec.Script.String()), 1, "dangling.yaml")
		if b.Exists("staged") || b.Exists("run/ostree/staged-deployment-locked") {
			b.T.Error("it was staged")
		}
		b.checkNoMirror()
	})
}

// TestOnlyFilesOfTheConfigurationAreCopied checks that the copy has only files that the tool reads,
// even if the configuration of the host has a link to a folder, and that a file without end adds no
// more bytes than the limit.
func TestOnlyFilesOfTheConfigurationAreCopied(t *testing.T) {
	longtest.SkipSlow(t)
	onSites(t, []string{"rpm-ostree image", "bootc"}, func(b *osHost, _ site, d engine.Desired) {
		const dir = "etc/containers/registries.d/"
		b.Write(dir+".hidden.yaml", theirs)
		b.Write("srv/linked", theirs)
		b.Write("srv/large", strings.Repeat("x", 3<<20))
		link := func(target, name string) { b.Check(os.Symlink(target, filepath.Join(b.Root, dir+name))) }
		link("../../../srv/linked", "linked.yaml")
		link("../../../srv", "folder")
		link("/dev/zero", "device")
		b.Write(dir+"backup.yaml~", theirs)
		script := "port=4711\n" + b.steps(fromBastion(d)).Stage[0].Do.Exec.Script.String()
		b.Want(b.Run(script), 0, "staged and locked")
		for _, name := range []string{".hidden.yaml", "linked.yaml"} {
			if got := b.readSeen("registries.d/" + name); got != theirs+"\n" {
				b.T.Errorf("the tool saw %q in %s", got, name)
			}
		}
		for _, name := range []string{"folder", "device", "backup.yaml~"} {
			if b.Exists("seen/registries.d/" + name) {
				b.T.Errorf("%s was copied", name)
			}
		}
	})
	for name, text := range map[string]string{"device.yaml": "device.yaml is not a regular file", "large.yaml": "more than 2 MiB"} {
		onSites(t, []string{"rpm-ostree image", "bootc"}, func(b *osHost, _ site, d engine.Desired) {
			b.Write("srv/large", strings.Repeat("x", 2<<20))
			b.Mkdir("etc/containers/registries.d")
			target := map[string]string{"device.yaml": "/dev/zero", "large.yaml": "../../../srv/large"}[name]
			b.Check(os.Symlink(target, filepath.Join(b.Root, "etc/containers/registries.d", name)))
			b.Want(b.Run("port=4711\n"+b.steps(fromBastion(d)).Stage[0].Do.Exec.Script.String()), 1, text)
			if b.Exists("staged") || b.Exists("run/ostree/staged-deployment-locked") {
				b.T.Error("it was staged")
			}
			b.checkNoMirror()
		})
	}
}

// TestKernelArgumentsNeedNoMirror checks that a host does not fetch the OS that
// it runs.
func TestKernelArgumentsNeedNoMirror(t *testing.T) {
	u := osUpdate{os: engine.OS{Driver: "rpm-ostree", Image: image1, Source: engine.BastionSource}, digest: moduletest.V1, again: true}
	if contentOf(u, engine.Facts{}) != nil || mirroredName(u) != "" {
		t.Error("it would be fetched")
	}
}
