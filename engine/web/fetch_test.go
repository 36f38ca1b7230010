package web

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/config"
)

// TestFetch checks that contents are verified and cached, that a changed file
// of the cache is not used, and that errors do not contain the address.
func TestFetch(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	text := "fetched"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }))
	defer server.Close()
	sum := sha256.Sum256([]byte(text))
	hash := "sha256-" + hex.EncodeToString(sum[:])
	f := NewFetcher(t.Context(), func(w string) { t.Error(w) })
	from := config.Remote{URL: server.URL + "/secret", Hash: hash}
	for range 2 {
		if data, err := f.Fetch(from); string(data) != "fetched" || err != nil {
			t.Fatalf("%q %v", data, err)
		}
		text = "not asked for again"
	}
	if err := os.WriteFile(filepath.Join(f.dir, hash), []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Fetch(from); err == nil || !strings.Contains(err.Error(), "its hash differs") {
		t.Error(err)
	}
	server.Close()
	if _, err := f.Fetch(from); err == nil || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	if _, err := f.Fetch(config.Remote{URL: server.URL, Hash: "../x"}); err == nil {
		t.Error("a hash of another kind was taken")
	}
}
