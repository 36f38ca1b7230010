package hostconfig

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/observe/observetest"
)

// An account removes a file while paths are graded, and restores the file before
// the write uses it. The write neither opens the file to other accounts nor loses
// it.
func TestWritesAreSafeFromFilesThatWereMissing(t *testing.T) {
	longtest.SkipSlow(t)
	for name, fails := range map[string]bool{"written": false, "undone": true} {
		t.Run(name, func(t *testing.T) {
			b := newWriteBox(t)
			b.Put("/srv/app/a", "own\n", 0o644)
			b.Check(os.Chmod(b.At("/srv/app"), fs.ModePerm))
			b.mustWrite(b.planWrite(contents{"/srv/app/a": "own\nours\n"}, testEdit{path: "/srv/app/a", kind: resource.PathFile, mode: 0o600, save: true}))
			b.Put("/srv/app/a", "own\nours\n"+observetest.Secret, 0o600)
			w := b.planWrite(contents{"/srv/app/a": "own\n" + observetest.Secret}, testEdit{path: "/srv/app/a", kind: resource.PathFile, mode: 0o600, restore: true})
			if fails {
				w.units = []unitEdit{{name: "x.service", do: "enable"}}
				b.Put("/no-x.service", "", 0o644)
			}
			path, aside := hostscript.Quote(b.At("/srv/app/a")), hostscript.Quote(filepath.Join(b.Root, "srv", "aside"))
			b.AddTool("stat", "case $2 in\n'%f %u %n') mv "+path+" "+aside+"; "+observetest.ToolPath(t, "stat")+" \"$@\"; code=$?; mv "+aside+" "+path+"; exit $code ;;\nesac\nexec "+observetest.ToolPath(t, "stat")+" \"$@\"\n")
			out := b.write(w)
			want := "own\n" + observetest.Secret
			if fails {
				want = "own\nours\n" + observetest.Secret
			}
			if n := b.Node("/srv/app/a"); n.Mode != 0o600 || b.Read("/srv/app/a") != want {
				t.Errorf("mode %o, %q", n.Mode, b.Read("/srv/app/a"))
			}
			if strings.Contains(out.Stderr, "could not be put back") || (out.Code != 0) != fails {
				t.Errorf("%d %s", out.Code, out.Stderr)
			}
		})
	}
}
