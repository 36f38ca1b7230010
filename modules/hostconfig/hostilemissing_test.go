package hostconfig

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
)

// An account can remove a file while paths are graded, and restore it before it
// is used.

// A probe does not follow such a link, and does not wait for such a pipe.
func TestLooksAreSafeFromFilesThatWereMissing(t *testing.T) {
	for name, attack := range map[string]string{
		"link": "ln -s $S/root/app.conf $S/srv/app/app.conf",
		"pipe": "mkfifo $S/srv/app/app.conf",
	} {
		t.Run(name, func(t *testing.T) {
			s, c := hostileProbe(t)
			script := strings.NewReplacer("$S", s.root)
			s.checkFacts(os.Rename(s.root+"/srv/app/app.conf", s.root+"/srv/aside"))
			s.writeFile("/fake/stat", "#!/bin/sh\n"+script.Replace("[ \"$1\" != -f ] || [ ! -e $S/srv/aside ] || mv $S/srv/aside $S/srv/app/app.conf\n")+"exec "+real(t, "stat")+" \"$@\"\n", 0o755)
			for _, tool := range []string{"head", "tar"} {
				s.writeFile("/fake/"+tool, "#!/bin/sh\n"+script.Replace("[ ! -e $S/srv/app/app.conf ] || { rm $S/srv/app/app.conf; "+attack+"; }\n")+"exec "+real(t, tool)+" \"$@\"\n", 0o755)
			}
			opened := time.AfterFunc(20*time.Second, func() { // nobody waits for ever
				t.Error("the look waits for a pipe")
				if f, err := os.OpenFile(s.root+"/srv/app/app.conf", os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
					_ = f.Close()
				}
			})
			secretFile := s.root + "/root/app.conf"
			s.checkFacts(os.Chtimes(secretFile, time.Unix(0, 0), time.Time{}))
			_ = s.readAnswer(c)
			opened.Stop()
			info, err := os.Stat(secretFile)
			s.checkFacts(err)
			if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Atim.Sec != 0 {
				t.Error("a file of root's was read")
			}
		})
	}
}

// A write neither opens such a file to others nor loses it.
func TestWritesAreSafeFromFilesThatWereMissing(t *testing.T) {
	for name, fails := range map[string]bool{"written": false, "undone": true} {
		t.Run(name, func(t *testing.T) {
			b := newWriteBox(t)
			b.Put("/srv/app/a", "own\n", 0o644)
			b.Check(os.Chmod(b.At("/srv/app"), fs.ModePerm))
			b.mustWrite(b.planWrite(contents{"/srv/app/a": "own\nours\n"}, pathEdit{path: "/srv/app/a", kind: engine.PathFile, mode: 0o600, save: true}))
			b.Put("/srv/app/a", "own\nours\n"+secret, 0o600)
			w := b.planWrite(contents{"/srv/app/a": "own\n" + secret}, pathEdit{path: "/srv/app/a", kind: engine.PathFile, mode: 0o600, restore: true})
			if fails {
				w.units = []unitEdit{{name: "x.service", do: "enable"}}
				b.Put("/no-x.service", "", 0o644)
			}
			path, aside := hostscript.Quote(b.At("/srv/app/a")), hostscript.Quote(filepath.Join(b.Root, "srv", "aside"))
			b.AddTool("stat", "case $2 in\n'%f %u %n') mv "+path+" "+aside+"; "+real(t, "stat")+" \"$@\"; code=$?; mv "+aside+" "+path+"; exit $code ;;\nesac\nexec "+real(t, "stat")+" \"$@\"\n")
			out := b.write(w)
			want := "own\n" + secret
			if fails {
				want = "own\nours\n" + secret
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
