package moduletest

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/pathtest"
	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/record"
)

// Tree is a fake host with a file system that scripts may change. All of it is
// below Root.
type Tree struct {
	*Box
	Login string // user whom sudo has let become root; "": root has logged in
	Path  string // folders to put in front of PATH, each with a colon after it
}

// NewTree returns a host that has booted V1. Its /etc, /home and /tmp are empty.
// Run r1 holds the host.
func NewTree(t testing.TB) *Tree {
	t.Helper()
	b := &Tree{Box: NewBox(t)}
	root, err := filepath.EvalSymlinks(b.Root)
	b.Check(err)
	b.Root = root
	for _, dir := range []string{"etc", "tmp", "var/lib/holdfast", "run/holdfast", "home"} {
		b.Mkdir(dir)
	}
	b.Check(os.Chmod(b.At("/"), 0o755))
	b.Check(os.Chmod(b.At("/var/lib/holdfast"), 0o700))
	b.Hold(engine.RunHold, "r1")
	return b
}

// At returns the path at which the test finds a file of the host.
func (b *Tree) At(path string) string { return filepath.Join(b.Root, path) }

// Put writes a file of the host with exactly this text.
func (b *Tree) Put(path, text string, mode fs.FileMode) {
	b.T.Helper()
	b.Check(os.MkdirAll(filepath.Dir(b.At(path)), 0o755))
	b.Check(os.WriteFile(b.At(path), []byte(text), 0o600))
	b.Check(os.Chmod(b.At(path), mode))
}

// Link makes a symbolic link on the host.
func (b *Tree) Link(path, target string) {
	b.T.Helper()
	b.Check(os.MkdirAll(filepath.Dir(b.At(path)), 0o755))
	b.Check(os.Symlink(target, b.At(path)))
}

// Node returns facts about a path of the host: its type, mode and owner IDs, and
// the digest or the target.
func (b *Tree) Node(path string) resource.PathFacts {
	b.T.Helper()
	info, err := os.Lstat(b.At(path))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return resource.PathFacts{}
	}
	b.Check(err)
	sys := info.Sys().(*syscall.Stat_t)
	n := resource.PathFacts{Mode: int(sys.Mode & 0o7777), UID: int(sys.Uid), GID: int(sys.Gid)}
	switch {
	case info.IsDir():
		n.Type = resource.PathDirectory
	case info.Mode()&fs.ModeSymlink != 0:
		n.Type = resource.PathLink
		n.Target, err = os.Readlink(b.At(path))
		b.Check(err)
	case info.Mode().IsRegular():
		n.Type = resource.PathFile
		n.Digest = resource.Digest([]byte(b.Read(path)))
	default:
		n.Type = resource.PathOther
	}
	return n
}

// Read returns the contents of a file of the host.
func (b *Tree) Read(path string) string {
	b.T.Helper()
	text, err := os.ReadFile(b.At(path))
	b.Check(err)
	return string(text)
}

// RunScript runs a script on the host. The script gets its uploads as its
// standard input, has its own process group, and stops at the points that a test
// asks for (see fault.sh).
func (b *Tree) RunScript(x engine.Exec) engine.Output {
	b.T.Helper()
	script := strings.Replace(x.Script.String(), "\nroot=''\n", "\nroot="+hostscript.Quote(b.Root)+"\n", 1)
	fault, err := os.ReadFile(projectPath(b.T, "modules/hostconfig/sh/fault.sh"))
	b.Check(err)
	script = strings.Replace(script, "\nmark_point() { :; }\n", "\n"+string(fault), 1)
	for _, path := range []string{"/var/lib/holdfast", "/run/holdfast", "/proc/sys"} {
		script = strings.ReplaceAll(script, path, b.Root+path)
	}
	var archive bytes.Buffer
	pack := tar.NewWriter(&archive)
	for _, u := range x.Uploads {
		b.Check(pack.WriteHeader(&tar.Header{Name: u.Name, Size: int64(len(u.Data)), Mode: 0o600, Typeflag: tar.TypeReg}))
		_, err := pack.Write(u.Data)
		b.Check(err)
	}
	b.Check(pack.Close())
	name := b.At("script")
	b.Check(os.WriteFile(name, []byte(script), 0o600))
	ctx, cancel := context.WithTimeout(b.T.Context(), 6*time.Minute) // no script may wait for ever; a busy machine needs minutes for some
	defer cancel()
	cmd := exec.CommandContext(ctx, pathtest.Shell(), name)
	cmd.WaitDelay = time.Second
	cmd.Env = []string{"PATH=" + b.Path + FakeTools(b.T) + ":" + pathtest.Tools(), "BOX=" + b.Root}
	if b.Login != "" {
		cmd.Env = append(cmd.Env, "SUDO_USER="+b.Login)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stdin = &archive
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) && !errors.Is(err, syscall.EPIPE) {
		b.T.Fatal(err)
	}
	return engine.Output{Stdout: stdout.String(), Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode()}
}

// CheckClean requires that no temporary file is left.
func (b *Tree) CheckClean() {
	b.T.Helper()
	b.Check(filepath.WalkDir(b.Root, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), ".holdfast-") || strings.Contains(path, "/tx/") || strings.Contains(path, ".applied.") {
			b.T.Errorf("%s is left", path)
		}
		return err
	}))
}

// ListTree lists the files of the host, one a line, with their facts and times. A
// file that a script has only touched also differs between two lists. The list
// omits /run, and the private files of the test and of scripts.
func (b *Tree) ListTree() string {
	b.T.Helper()
	var list strings.Builder
	b.Check(filepath.WalkDir(b.Root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, b.Root)
		switch {
		case name == "/log", name == "/script", name == "/slept", name == "/on-sleep", strings.HasPrefix(name, "/run/"), strings.HasPrefix(name, "/var/lib/holdfast/write.lock"), name == "/var/lib/holdfast/lock", name == "/var/lib/holdfast/originals", name == "/var/lib/holdfast/tx":
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		when := info.ModTime().String()
		if d.IsDir() || name == record.Path {
			when = "" // temporary files change the time of a directory, and a script may restore the record
		}
		n := b.Node(name)
		fmt.Fprintf(&list, "%s %+v %s\n", name, n, when)
		return nil
	}))
	return list.String()
}

// DifferingLinesOf returns the lines of each text that the other does not contain.
func DifferingLinesOf(before, after string) string {
	var b strings.Builder
	for line := range strings.Lines(before) {
		if !strings.Contains(after, line) {
			b.WriteString("- " + line)
		}
	}
	for line := range strings.Lines(after) {
		if !strings.Contains(before, line) {
			b.WriteString("+ " + line)
		}
	}
	return b.String()
}

// AddTool adds a program that scripts find in PATH before the fake tools.
func (b *Tree) AddTool(name, text string) {
	b.T.Helper()
	// A script may be about to run the old tool, which could not start while it is open for writing.
	b.Put("/bin/."+name, "#!/bin/sh\n"+text, 0o755)
	if err := os.Rename(b.At("/bin/."+name), b.At("/bin/"+name)); err != nil {
		b.T.Fatal(err)
	}
	b.Path = b.At("/bin") + ":"
}
