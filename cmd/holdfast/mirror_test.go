package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/content/mirror"
)

// TestErrorOfARegistryIsSafeToShow checks that a registry cannot send control characters to the
// terminal of the operator.
func TestErrorOfARegistryIsSafeToShow(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/" {
			return
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprint(w, `{"errors": [{"code": "DENIED", "message": "pay\u001b[2J\u202e first"}]}`) // the client may have disconnected
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	site := fmt.Sprintf(`
site "s" {
  mirror {
    layout = "images"
  }
}
pool "w" {
  os {
    driver = "bootc"
    image  = "quay.io/acme/os@sha256:%s"
    source = "bastion"
  }
}
host "h" {
  pool    = "w"
  address = "192.0.2.1"
}
`, strings.Repeat("0", 64))
	if err := os.WriteFile(filepath.Join(dir, "site.hcl"), []byte(site), 0o600); err != nil {
		t.Fatal(err)
	}
	stderr, err := os.Create(filepath.Join(dir, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	from := "docker://" + strings.TrimPrefix(server.URL, "http://") + "/acme/os"
	if code := run([]string{"mirror", "--from", from, "-i", filepath.Join(dir, "site.hcl")}, os.Stdin, stderr, stderr); code != engine.ExitFailed {
		t.Errorf("exit %d", code)
	}
	said, err := os.ReadFile(stderr.Name())
	if err != nil || !strings.Contains(string(said), `pay\x1b[2J\u202e first`) || strings.ContainsAny(string(said), "\x1b\u202e") {
		t.Errorf("%v: %q", err, said)
	}
}

// TestMirrorShowsSignatures checks that a complete commit or image is shown with or without signatures, and that
// signatures do not change the exit code.
func TestMirrorShowsSignatures(t *testing.T) {
	commit := mirror.Wanted{Ref: "lab/stable", Commit: strings.Repeat("1", 64)}
	image := mirror.Wanted{Image: "quay.invalid/os@sha256:" + strings.Repeat("2", 64)}
	for _, c := range []struct {
		status mirror.ContentStatus
		want   string
		fails  bool
	}{
		{mirror.ContentStatus{Wanted: commit, Signed: true}, " lab/stable: complete, with signatures;", false},
		{mirror.ContentStatus{Wanted: commit}, " lab/stable: complete, without signatures;", false},
		{mirror.ContentStatus{Wanted: image, Signed: true}, ": complete, with signatures;", false},
		{mirror.ContentStatus{Wanted: image}, ": complete, without signatures;", false},
		{mirror.ContentStatus{Wanted: commit, Signed: true, Missing: []string{"x"}}, ": 1 missing, 0 damaged, with signatures;", true},
		{mirror.ContentStatus{Wanted: commit, Missing: []string{"x"}}, ": 1 missing, 0 damaged;", true},
	} {
		out, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		err = (&app{siteOpener: siteOpener{console: console{stdout: out}}}).showMirror(engine.Mirror{}, []mirror.ContentStatus{c.status})
		if (err != nil) != c.fails {
			t.Errorf("%+v: %v", c.status, err)
		}
		if _, err := out.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(out)
		if err != nil || !strings.Contains(string(text), c.want) {
			t.Errorf("%q, want %q", text, c.want)
		}
		_ = out.Close()
	}
}
