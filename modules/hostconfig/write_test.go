package hostconfig

import (
	"os"
	"testing"

	"holdfast/engine"
)

func TestAWriteMakesFilesDirectoriesAndLinks(t *testing.T) {
	b := newWriteBox(t)
	b.Put("/etc/old.conf", "old\n", 0o600)
	b.Put("/etc/gone.conf", "gone\n", 0o644)
	w := b.planWrite(contents{"/etc/old.conf": "new\n", "/etc/a/b/new.conf": "made\n", "/etc/tool": "#!/bin/sh\n"},
		pathEdit{path: "/etc/dir", kind: engine.PathDirectory, mode: 0o2750},
		pathEdit{path: "/etc/old.conf", kind: engine.PathFile, mode: -1, save: true},
		writtenFile("/etc/a/b/new.conf"),
		pathEdit{path: "/etc/tool", kind: engine.PathFile, mode: 0o4755},
		pathEdit{path: "/etc/link", kind: engine.PathLink, data: "../x y"},
		pathEdit{path: "/etc/hard", kind: engine.PathLink, hard: true, data: "/etc/old.conf"},
		removedPath("/etc/gone.conf"), removedPath("/etc/never.conf"))
	b.mustWrite(w)
	for path, want := range map[string]engine.PathFacts{
		"/etc/old.conf":     {Type: engine.PathFile, Mode: 0o600, Digest: engine.Digest([]byte("new\n"))},
		"/etc/hard":         {Type: engine.PathFile, Mode: 0o600, Digest: engine.Digest([]byte("new\n"))},
		"/etc/a/b/new.conf": {Type: engine.PathFile, Mode: 0o644, Digest: engine.Digest([]byte("made\n"))},
		"/etc/a":            {Type: engine.PathDirectory, Mode: 0o755},
		"/etc/dir":          {Type: engine.PathDirectory, Mode: 0o2750},
		"/etc/tool":         {Type: engine.PathFile, Mode: 0o4755, Digest: engine.Digest([]byte("#!/bin/sh\n"))},
		"/etc/link":         {Type: engine.PathLink, Mode: 0o777, Target: "../x y"},
		"/etc/gone.conf":    {},
	} {
		if want.Type != engine.PathMissing {
			want.UID, want.GID = os.Getuid(), os.Getgid()
		}
		if got := b.Node(path); got.Type != want.Type || got.Mode != want.Mode || got.Digest != want.Digest || got.Target != want.Target || got.UID != want.UID || got.GID != want.GID {
			t.Errorf("%s is %+v, want %+v", path, got, want)
		}
	}
	if got := b.Read("/var/lib/holdfast/originals/%2Fetc%2Fold.conf"); got != "old\n" {
		t.Errorf("original: %q", got)
	}
}
