package hostconfig

import (
	"os"
	"testing"

	"holdfast/engine/hostscript"
	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/observe/observetest"
)

// An account rewrites its file after the file was compared with the plan, and before it is saved. The edit is not
// overwritten, and no old contents are taken for those of the file.
func TestEditsBetweenCheckAndSaveStay(t *testing.T) {
	t.Parallel()
	b := newWriteBox(t)
	b.Put("/srv/app/a", "old\n", 0o644)
	b.Check(os.Chmod(b.At("/srv/app"), 0o777))
	w := b.planWrite(contents{"/srv/app/a": "new\n"}, testEdit{path: "/srv/app/a", kind: resource.PathFile, mode: 0o644, save: true})
	b.AddTool("ln", "case $* in *'../a ./old-'*) echo edited >../a ;; esac\nexec "+observetest.ToolPath(t, "ln")+" \"$@\"\n")
	b.Want(b.write(w), hostscript.ScriptChanged, "/srv/app/a is not as it was when this was planned")
	if b.Read("/srv/app/a") != "edited\n" {
		t.Errorf("the file is %q", b.Read("/srv/app/a"))
	}
	b.CheckClean()
}
