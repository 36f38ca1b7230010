package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine"
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
