package modules

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
)

// writeBox is a box with a file system that configurations are written to.
type writeBox struct {
	*box
	path string // more of PATH, in front
}

func newWriteBox(t *testing.T) *writeBox {
	t.Helper()
	b := &writeBox{box: newBox(t)}
	root, err := filepath.EvalSymlinks(b.root)
	b.check(err)
	b.root = root
	for _, dir := range []string{"etc", "tmp", "var/lib/holdfast", "run/holdfast", "home"} {
		b.mkdir(dir)
	}
	b.check(os.Chmod(b.at("/"), 0o755))
	b.check(os.Chmod(b.at("/var/lib/holdfast"), 0o700))
	b.hold(engine.RunHold, "r1")
	return b
}

func (b *writeBox) at(path string) string { return filepath.Join(b.root, path) }

// put writes a file of the box with exactly these contents.
func (b *writeBox) put(path, text string, mode fs.FileMode) {
	b.t.Helper()
	b.check(os.MkdirAll(filepath.Dir(b.at(path)), 0o755))
	b.check(os.WriteFile(b.at(path), []byte(text), 0o600))
	b.check(os.Chmod(b.at(path), mode))
}

func (b *writeBox) link(path, target string) {
	b.t.Helper()
	b.check(os.MkdirAll(filepath.Dir(b.at(path)), 0o755))
	b.check(os.Symlink(target, b.at(path)))
}

// node returns the facts that the plan has about a path.
func (b *writeBox) node(path string) engine.PathFacts {
	b.t.Helper()
	info, err := os.Lstat(b.at(path))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return engine.PathFacts{}
	}
	b.check(err)
	sys := info.Sys().(*syscall.Stat_t)
	n := engine.PathFacts{Mode: int(sys.Mode & 0o7777), UID: int(sys.Uid), GID: int(sys.Gid)}
	switch {
	case info.IsDir():
		n.Type = engine.PathDirectory
	case info.Mode()&fs.ModeSymlink != 0:
		n.Type = engine.PathLink
		n.Target, err = os.Readlink(b.at(path))
		b.check(err)
	case info.Mode().IsRegular():
		n.Type = engine.PathFile
		n.Digest = engine.Digest([]byte(b.read(path)))
	default:
		n.Type = engine.PathOther
	}
	return n
}

func (b *writeBox) read(path string) string {
	b.t.Helper()
	text, err := os.ReadFile(b.at(path))
	b.check(err)
	return string(text)
}

// planWrite returns a write of edits for the present state of the box. New
// files belong to the user of the test.
func (b *writeBox) planWrite(data map[string]string, edits ...pathEdit) hostWrite {
	w := hostWrite{
		owner: by("r1"), boot: boot, before: []byte(`{"before":1}`), after: []byte(`{"after":1}`), failure: func(string) []byte { return []byte(`{"failed":1}`) },
		data: map[string][]byte{},
	}
	for _, e := range edits {
		e.was = b.node(e.path)
		if e.user == "" && e.was.Type == engine.PathMissing {
			e.user = fmt.Sprint(os.Getuid())
		}
		if e.group == "" && e.was.Type == engine.PathMissing {
			e.group = fmt.Sprint(os.Getgid())
		}
		if e.kind != e.was.Type {
			e.user, e.group = fmt.Sprint(os.Getuid()), fmt.Sprint(os.Getgid())
		}
		if e.kind == engine.PathFile {
			text := data[e.path]
			e.data = engine.Digest([]byte(text))
			w.data[e.data] = []byte(text)
		}
		w.edits = append(w.edits, e)
	}
	return w
}

// contents are data for plan.
type contents = map[string]string

func file(path string) pathEdit { return pathEdit{path: path, kind: engine.PathFile, mode: 0o644} }
func gone(path string) pathEdit { return pathEdit{path: path, mode: -1} }

// runScript runs a script with its uploads, in a process group of its own.
func (b *writeBox) runScript(script string, uploads []engine.Upload) engine.Output {
	b.t.Helper()
	script = strings.Replace(script, "\nroot=''\n", "\nroot="+hostscript.Quote(b.root)+"\n", 1)
	fault, err := os.ReadFile("sh/fault.sh")
	b.check(err)
	script = strings.Replace(script, "\npoint() { :; }\n", "\n"+string(fault), 1)
	for _, path := range []string{"/var/lib/holdfast", "/run/holdfast", "/proc/sys"} {
		script = strings.ReplaceAll(script, path, b.root+path)
	}
	var archive bytes.Buffer
	pack := tar.NewWriter(&archive)
	for _, u := range uploads {
		b.check(pack.WriteHeader(&tar.Header{Name: u.Name, Size: int64(len(u.Data)), Mode: 0o600, Typeflag: tar.TypeReg}))
		_, err := pack.Write(u.Data)
		b.check(err)
	}
	b.check(pack.Close())
	name := b.at("script")
	b.check(os.WriteFile(name, []byte(script), 0o600))
	fakes, err := filepath.Abs("../testdata/fake")
	b.check(err)
	shell := os.Getenv("HOLDFAST_TEST_SHELL") // another than sh, to try it
	if shell == "" {
		shell = "sh"
	}
	ctx, cancel := context.WithTimeout(b.t.Context(), 2*time.Minute) // nothing may wait for ever
	defer cancel()
	cmd := exec.CommandContext(ctx, shell, name)
	cmd.WaitDelay = time.Second
	cmd.Env = []string{"PATH=" + b.path + fakes + ":" + pathtest.Tools(), "BOX=" + b.root}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stdin = &archive
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) && !errors.Is(err, syscall.EPIPE) {
		b.t.Fatal(err)
	}
	return engine.Output{Stdout: stdout.String(), Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode()}
}

func (b *writeBox) write(w hostWrite) engine.Output {
	b.t.Helper()
	return b.runScript(w.buildScript(by("r1")))
}

// mustWrite writes and records, and requires that both succeed and leave no
// temporary file.
func (b *writeBox) mustWrite(w hostWrite) {
	b.t.Helper()
	b.want(b.write(w), 0, "")
	if got := b.read("/var/lib/holdfast/applied.json"); got != `{"before":1}` {
		b.t.Fatalf("record while it is under way: %s", got)
	}
	b.record(w)
}

func (b *writeBox) record(w hostWrite) {
	b.t.Helper()
	b.want(b.runScript(recordScript(by("r1"), w.after, false)), 0, "")
	if got := b.read("/var/lib/holdfast/applied.json"); got != string(w.after) {
		b.t.Fatalf("record: %s", got)
	}
	b.checkClean()
}

// checkClean requires that no temporary file is left.
func (b *writeBox) checkClean() {
	b.t.Helper()
	b.check(filepath.WalkDir(b.root, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), ".holdfast-") || strings.Contains(path, "/tx/") || strings.Contains(path, ".applied.") {
			b.t.Errorf("%s is left", path)
		}
		return err
	}))
}

// listTree returns all files of the box, without the private files of scripts,
// with times: an untouched file is equal in two lists.
func (b *writeBox) listTree() string {
	b.t.Helper()
	var list strings.Builder
	b.check(filepath.WalkDir(b.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, b.root)
		switch {
		case name == "/log", name == "/script", name == "/slept", name == "/on-sleep", strings.HasPrefix(name, "/run/"), strings.HasPrefix(name, "/var/lib/holdfast/write.lock"), name == "/var/lib/holdfast/lock", name == "/var/lib/holdfast/originals", name == "/var/lib/holdfast/tx":
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		when := info.ModTime().String()
		if d.IsDir() || name == engine.RecordPath {
			when = "" // temporary files have been in it; the record may have been put back
		}
		n := b.node(name)
		fmt.Fprintf(&list, "%s %+v %s\n", name, n, when)
		return nil
	}))
	return list.String()
}

// checkRefused requires that a write ends with this status, and that nothing
// has changed.
func (b *writeBox) checkRefused(w hostWrite, code int, says string) {
	b.t.Helper()
	before := b.listTree()
	b.want(b.write(w), code, says)
	if after := b.listTree(); after != before {
		b.t.Errorf("something has changed:\n%s", differingLinesOf(before, after))
	}
	b.checkClean()
}

func differingLinesOf(before, after string) string {
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
