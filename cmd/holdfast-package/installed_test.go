package main

import (
	"bytes"
	_ "embed" // embeds the scripts
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

//go:embed testdata/deb.sh
var debScript string

//go:embed testdata/rpm.sh
var rpmScript string

// trials are packages, the folder with them, and the folder that keeps these and root file systems.
type trials struct {
	source
	dir, kept string
}

// TestInstalled makes the packages of this checkout, twice, and tries them in fresh root file systems of Debian. It keeps
// both in the folder HOLDFAST_PACKAGES. It needs root, the network, and the packages lintian, mandoc, mmdebstrap, rpm and
// systemd-container. It takes ten minutes.
func TestInstalled(t *testing.T) {
	kept := os.Getenv("HOLDFAST_PACKAGES")
	if kept == "" {
		t.Skip("needs root and the network; HOLDFAST_PACKAGES=FOLDER runs it")
	}
	src, err := readSource(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if src.changed {
		t.Log("the checkout has changes that are not committed; the packages have them, too")
	}
	p := trials{source: src, dir: filepath.Join(kept, src.commit), kept: kept}
	if src.changed {
		p.dir = t.TempDir()
	}
	p.makePackages(t, "new", "amd64", "arm64")
	older := p
	older.version = "0.0.0~1"
	older.makePackages(t, "old", "amd64")
	t.Run("same bytes", p.tryAgain)
	t.Run("lint", p.lint)
	for name, suite := range map[string]debian{
		"debian 12": {"bookworm", "systemd,systemd-sysv,dbus,man-db,passwd"}, "debian 13": {"trixie", "systemd,systemd-sysv,dbus,man-db,passwd"},
		"testing": {"testing", "systemd,systemd-sysv,dbus,man-db,passwd"}, "debian 13 without systemd": {"trixie", "passwd"},
	} {
		t.Run(name, func(t *testing.T) { p.tryDeb(t, suite) })
	}
	t.Run("rpm", p.tryRPM)
	t.Run("image", p.tryImage)
}

// makePackages makes packages in a folder, unless an earlier test of this commit has made them.
func (p trials) makePackages(t *testing.T, folder string, arches ...string) {
	t.Helper()
	out := filepath.Join(p.dir, folder)
	if _, err := os.Stat(out); err == nil {
		return
	}
	if err := errors.Join(os.RemoveAll(out+".part"), makeFolder(out+".part")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.packageAll(t.Context(), arches, out+".part"), os.Rename(out+".part", out)); err != nil {
		t.Fatal(err)
	}
}

// tryAgain packages a clone of the repository, which has another path, with another umask and time zone.
func (p trials) tryAgain(t *testing.T) {
	if p.changed {
		t.Skip("a clone lacks the changes of this checkout")
	}
	if err := os.RemoveAll(filepath.Join(p.dir, "again")); err != nil {
		t.Fatal(err)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	runTool(t, "git", "clone", "--quiet", "--shared", "--no-checkout", "--no-tags", p.source.dir, clone)
	runTool(t, "git", "-C", clone, "checkout", "--quiet", p.commit)
	again := p
	again.source.dir = clone
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	t.Setenv("TZ", "Asia/Tokyo")
	again.makePackages(t, "again", "amd64", "arm64")
	list, err := os.ReadDir(filepath.Join(p.dir, "new"))
	if err != nil || len(list) != 5 {
		t.Fatalf("%d packages and images, not 5: %v", len(list), err)
	}
	for _, f := range list {
		first, err1 := os.ReadFile(filepath.Join(p.dir, "new", f.Name()))
		second, err2 := os.ReadFile(filepath.Join(p.dir, "again", f.Name()))
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, second) {
			t.Errorf("%s differs when a clone of the repository makes it", f.Name())
		}
	}
}

// lint demands that lintian has no error and no warning, and mandoc nothing at all to say.
func (p trials) lint(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		runTool(t, "lintian", "--allow-root", "--fail-on", "error,warning", p.find(t, "new", "_"+arch+".deb"))
	}
	root := t.TempDir()
	runTool(t, "dpkg-deb", "-x", p.find(t, "new", "_amd64.deb"), root)
	pages, err := filepath.Glob(filepath.Join(root, "usr/share/man/man1/*.1.gz"))
	if err != nil || len(pages) < 30 {
		t.Fatalf("%d man pages: %v", len(pages), err)
	}
	runTool(t, "gunzip", pages...)
	for i := range pages {
		pages[i] = strings.TrimSuffix(pages[i], ".gz")
	}
	if said := runTool(t, "mandoc", append([]string{"-Tlint", "-Wall"}, pages...)...); said != "" {
		t.Errorf("mandoc: %s", said)
	}
}

// debian is a suite of Debian with a list of packages besides the essential ones and apt.
type debian struct{ suite, packages string }

// tryDeb runs deb.sh in a root file system.
func (p trials) tryDeb(t *testing.T, d debian) {
	root := p.makeRoot(t, d)
	for as, file := range map[string]string{"old.deb": p.find(t, "old", "_amd64.deb"), "new.deb": p.find(t, "new", "_amd64.deb")} {
		runTool(t, "cp", file, filepath.Join(root, "root", as))
	}
	t.Log(runTool(t, "systemd-nspawn", "--quiet", "--pipe", "--register=no", "--keep-unit", "--resolv-conf=off", "--timezone=off", "--directory="+root,
		"sh", "-c", debScript, "deb.sh", "/root/old.deb", "/root/new.deb", p.version))
}

// tryRPM installs the packages of rpm with Debian's rpm, in Debian.
func (p trials) tryRPM(t *testing.T) {
	root := p.makeRoot(t, debian{"trixie", "systemd,systemd-sysv,dbus,man-db,passwd"})
	t.Log(runTool(t, "sh", "-c", rpmScript, "rpm.sh", root, p.find(t, "old", ".x86_64.rpm"), p.find(t, "new", ".x86_64.rpm"), p.version))
	if requires := runTool(t, "rpm", "-qp", "--requires", p.find(t, "new", ".aarch64.rpm")); strings.Contains(requires, "lib") {
		t.Errorf("the package of a static program requires %s", requires)
	}
}

// tryImage runs the program in the files of its image, as the user of the image.
func (p trials) tryImage(t *testing.T) {
	archive, err := os.ReadFile(p.find(t, "new", ".oci.tar"))
	if err != nil {
		t.Fatal(err)
	}
	layers, err := readImages(t, archive)["amd64"].Layers()
	if err != nil {
		t.Fatal(err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	packed, root := filepath.Join(t.TempDir(), "layer.tar"), t.TempDir()
	text, err := io.ReadAll(content)
	if err == nil {
		err = errors.Join(writeFile(packed, text, 0o644), os.Chmod(root, 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	runTool(t, "tar", "-C", root, "--numeric-owner", "-xpf", packed)
	inside := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "/usr/bin/holdfast", args...)
		cmd.Dir, cmd.Env = imageState, []string{"HOME=" + imageState, "XDG_STATE_HOME=" + imageState + "/state", "HOLDFAST_RUNS=" + imageState + "/runs"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: imageUser, Gid: imageUser}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if got := inside("version"); !strings.Contains(got, p.version) {
		t.Errorf("version: %s", got)
	}
	inside("init", "site")
	inside("validate", "-i", "site")
	inside("runs", "-i", "site")
}

// makeRoot unpacks a fresh root file system.
func (p trials) makeRoot(t *testing.T, d debian) string {
	t.Helper()
	packed := filepath.Join(p.kept, d.suite+"-"+d.packages+".tar")
	args := []string{"INITRD=No", "mmdebstrap", "--quiet", "--variant=apt", "--keyring=/usr/share/keyrings/debian-archive-keyring.gpg", `--aptopt=Acquire::Check-Valid-Until "false"`, "--include=" + d.packages}
	if _, err := os.Stat(packed); errors.Is(err, fs.ErrNotExist) {
		if err := makeFolder(p.kept); err != nil {
			t.Fatal(err)
		}
		runTool(t, "env", append(args, d.suite, packed+".new.tar")...)
		if err := os.Rename(packed+".new.tar", packed); err != nil {
			t.Fatal(err)
		}
	}
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	runTool(t, "tar", "-C", root, "--numeric-owner", "-xpf", packed)
	return root
}

// find returns the package in a folder whose name ends so.
func (p trials) find(t *testing.T, folder, end string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(p.dir, folder, "*"+end))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %d packages: %v", end, len(found), err)
	}
	return found[0]
}

// runTool returns the output of a command that must succeed.
func runTool(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return strings.TrimSpace(string(out))
}
