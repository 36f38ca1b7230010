package hostconfig

import (
	"fmt"
	"os"
	"testing"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/modules/moduletest"
)

// writeBox is a fake host that configurations are written to.
type writeBox struct{ *moduletest.Tree }

func newWriteBox(t testing.TB) *writeBox {
	t.Helper()
	return &writeBox{moduletest.NewTree(t)}
}

// planWrite returns a write of these edits, planned for the present state of the
// box. New files belong to the user who runs the test.
func (b *writeBox) planWrite(data map[string]string, edits ...testEdit) hostWrite {
	w := hostWrite{
		owner: moduletest.By("r1"), boot: moduletest.Boot, before: []byte(`{"before":1}`), after: []byte(`{"after":1}`), failure: func(string) []byte { return []byte(`{"failed":1}`) },
		data: map[string][]byte{},
	}
	for _, e := range edits {
		if e.kind == resource.PathFile {
			text := data[e.path]
			e.data = resource.Digest([]byte(text))
			w.data[e.data] = []byte(text)
		}
		w.edits = append(w.edits, b.planEdit(e))
	}
	return w
}

// testEdit is a change of one path, planned for the present state of the box.
type testEdit struct {
	path        string
	kind        resource.PathType
	hard        bool
	mode        int
	user, group string
	data        string
	save        bool
	restore     bool
}

func (b *writeBox) planEdit(e testEdit) pathEdit {
	was := b.Node(e.path)
	if e.kind != was.Type {
		e.user, e.group = fmt.Sprint(os.Getuid()), fmt.Sprint(os.Getgid())
	}
	edit := newPathEdit(pathState{path: e.path, kind: e.kind, hard: e.hard, mode: e.mode, user: e.user, group: e.group, data: e.data}, was)
	edit.save, edit.restore = e.save, e.restore
	return edit
}

// contents are the texts of files for planWrite, by path.
type contents = map[string]string

func writtenFile(path string) testEdit {
	return testEdit{path: path, kind: resource.PathFile, mode: 0o644}
}
func removedPath(path string) testEdit { return testEdit{path: path, mode: -1} }

func (b *writeBox) write(w hostWrite) engine.Output {
	b.T.Helper()
	return b.RunScript(w.buildScript())
}

// mustWrite writes and records. It requires that both scripts succeed and leave
// no temporary file.
func (b *writeBox) mustWrite(w hostWrite) {
	b.T.Helper()
	b.Want(b.write(w), 0, "")
	if got := b.Read("/var/lib/holdfast/applied.json"); got != `{"before":1}` {
		b.T.Fatalf("record while it is under way: %s", got)
	}
	b.record(w)
}

func (b *writeBox) record(w hostWrite) {
	b.T.Helper()
	b.Want(b.RunScript(recordScript(moduletest.By("r1"), w.after, false)), 0, "")
	if got := b.Read("/var/lib/holdfast/applied.json"); got != string(w.after) {
		b.T.Fatalf("record: %s", got)
	}
	b.CheckClean()
}

// checkRefused requires that a write ends with this status, and changes nothing.
func (b *writeBox) checkRefused(w hostWrite, code int, says string) {
	b.T.Helper()
	before := b.ListTree()
	b.Want(b.write(w), code, says)
	if after := b.ListTree(); after != before {
		b.T.Errorf("something has changed:\n%s", moduletest.DifferingLinesOf(before, after))
	}
	b.CheckClean()
}
