package hostconfig

import (
	"os"
	"testing"

	"holdfast/engine/resource"
)

func TestAWriteMakesFilesDirectoriesAndLinks(t *testing.T) {
	b := newWriteBox(t)
	b.Put("/etc/old.conf", "old\n", 0o600)
	b.Put("/etc/gone.conf", "gone\n", 0o644)
	w := b.planWrite(contents{"/etc/old.conf": "new\n", "/etc/a/b/new.conf": "made\n", "/etc/tool": "#!/bin/sh\n"},
		testEdit{path: "/etc/dir", kind: resource.PathDirectory, mode: 0o2750},
		testEdit{path: "/etc/old.conf", kind: resource.PathFile, mode: -1, save: true},
		writtenFile("/etc/a/b/new.conf"),
		testEdit{path: "/etc/tool", kind: resource.PathFile, mode: 0o4755},
		testEdit{path: "/etc/link", kind: resource.PathLink, data: "../x y"},
		testEdit{path: "/etc/hard", kind: resource.PathLink, hard: true, data: "/etc/old.conf"},
		removedPath("/etc/gone.conf"), removedPath("/etc/never.conf"))
	b.mustWrite(w)
	for path, want := range map[string]resource.PathFacts{
		"/etc/old.conf":     {Type: resource.PathFile, Mode: 0o600, Digest: resource.Digest([]byte("new\n"))},
		"/etc/hard":         {Type: resource.PathFile, Mode: 0o600, Digest: resource.Digest([]byte("new\n"))},
		"/etc/a/b/new.conf": {Type: resource.PathFile, Mode: 0o644, Digest: resource.Digest([]byte("made\n"))},
		"/etc/a":            {Type: resource.PathDirectory, Mode: 0o755},
		"/etc/dir":          {Type: resource.PathDirectory, Mode: 0o2750},
		"/etc/tool":         {Type: resource.PathFile, Mode: 0o4755, Digest: resource.Digest([]byte("#!/bin/sh\n"))},
		"/etc/link":         {Type: resource.PathLink, Mode: 0o777, Target: "../x y"},
		"/etc/gone.conf":    {},
	} {
		if want.Type != resource.PathMissing {
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
