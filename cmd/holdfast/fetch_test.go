package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine"
)

// remoteSite makes a folder with an inventory of one host with one document.
func remoteSite(t *testing.T, document string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"site.hcl": "site \"s\" {}\npool \"p\" { configs = [\"a.ign\"] }\nhost \"h\" {\n  address = \"h\"\n  pool    = \"p\"\n}\n",
		"a.ign":    document,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// runHoldfast runs the program and returns its output.
func runHoldfast(t *testing.T, args ...string) (code engine.ExitCode, stdout, stderr string) {
	t.Helper()
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	diagnostics, err := os.CreateTemp(t.TempDir(), "err")
	if err != nil {
		t.Fatal(err)
	}
	code = run(args, os.Stdin, out, diagnostics)
	text := func(f *os.File) string {
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	return code, text(out), text(diagnostics)
}

func hashOf(text string) string {
	s := sha512.Sum512([]byte(text))
	return "sha512-" + hex.EncodeToString(s[:])
}

// TestRemoteContents checks that contents with an address and a hash are fetched
// once, with the headers in the document, and then cached. Later the server may
// be down.
func TestRemoteContents(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", filepath.Join(t.TempDir(), "cache"))
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.Header.Get("Authorization") != "Bearer t0ken" || r.URL.Query().Get("q") != "secret" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write([]byte("fetched"))
		_ = z.Close()
		_, _ = w.Write(b.Bytes())
	}))
	defer server.Close()
	dir := remoteSite(t, fmt.Sprintf(`{"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": "/etc/a", "contents": {
  "source": "%s/a.gz?q=secret", "compression": "gzip", "verification": {"hash": "%s"},
  "httpHeaders": [{"name": "Authorization", "value": "Bearer t0ken"}]}}]}}`, server.URL, hashOf("fetched")))
	site := filepath.Join(dir, "site.hcl")
	code, first, stderr := runHoldfast(t, "render", "h", "-i", site)
	if code != engine.ExitOK || !strings.Contains(first, "ZmV0Y2hlZA==") || stderr != "" {
		t.Fatalf("exit %d: %s%s", code, first, stderr)
	}
	server.Close()
	for _, args := range [][]string{{"render", "h", "-i", site}, {"validate", "-i", site}, {"diff", dir + "/a.ign", dir + "/a.ign"}} {
		if code, _, stderr := runHoldfast(t, args...); code != engine.ExitOK || stderr != "" {
			t.Errorf("%v without the server: exit %d: %s", args, code, stderr)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	kept := filepath.Join(os.Getenv("XDG_CACHE_HOME"), "holdfast", "contents", hashOf("fetched"))
	info, err := os.Stat(kept)
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("%v %v", info, err)
	}
	// A cached file that has changed is not used.
	if err := os.WriteFile(kept, []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr = runHoldfast(t, "validate", "-i", site)
	if code != engine.ExitUsage || !strings.Contains(stderr, "a.ign:2:13: storage.files[0].contents.source: cannot be fetched from "+server.URL+"/a.gz: connection refused") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// TestRemoteContentsThatCannotBeHad checks that errors name the position in the
// document, and contain no secrets of the address.
func TestRemoteContentsThatCannotBeHad(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			for range 65 {
				_, _ = w.Write(make([]byte, 1<<20))
			}
		case "/short":
			w.Header().Set("Content-Length", "10")
			_, _ = w.Write([]byte("x"))
		case "/moved":
			http.Redirect(w, r, "/gone?token=secret", http.StatusFound)
		case "/round":
			http.Redirect(w, r, "/round?token=secret", http.StatusFound)
		case "/other":
			_, _ = w.Write([]byte("other"))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	with := strings.Replace(server.URL, "http://", "http://ann:secret@", 1)
	for path, want := range map[string]string{
		"/gone":  "the server answers 404 Not Found",
		"/moved": "the server answers 404 Not Found",
		"/large": "it is larger than 64 MiB; put files of that size into the OS image",
		"/short": "unexpected EOF",
		"/round": "more than 10 redirects; write the final address",
		"/other": "its hash differs from verification.hash (after decompression)",
	} {
		dir := remoteSite(t, fmt.Sprintf(`{"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": "/etc/a", "contents": {
  "source": "%s?token=secret", "verification": {"hash": "%s"}}}]}}`, with+path, hashOf("wanted")))
		code, stdout, stderr := runHoldfast(t, "validate", "-i", filepath.Join(dir, "site.hcl"))
		want := fmt.Sprintf("holdfast: %s/a.ign:2:13: storage.files[0].contents.source: cannot be fetched from %s: %s\n", dir, server.URL+path, want)
		// On a slow machine, validate first prints that it waits for the server.
		if code != engine.ExitUsage || stdout != "" || !strings.HasSuffix(stderr, want) || strings.Contains(stderr, "secret") {
			t.Errorf("exit %d: %s%s\nwant %s", code, stdout, stderr, want)
		}
	}
}

// TestRemoteContentsThatCannotBeKept checks that a bastion without a cache
// fetches contents each time, and prints a warning.
func TestRemoteContentsThatCannotBeKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", file)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("x")) }))
	defer server.Close()
	dir := remoteSite(t, fmt.Sprintf(`{"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": "/etc/a", "contents": {
  "source": "%s/x?token=secret", "verification": {"hash": "%s"}}}]}}`, server.URL, hashOf("x")))
	code, _, stderr := runHoldfast(t, "validate", "-i", filepath.Join(dir, "site.hcl"))
	if code != engine.ExitOK || !strings.Contains(stderr, "holdfast: warning: contents from "+server.URL+"/x are not kept for later: ") || strings.Contains(stderr, "secret") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// TestHashToWrite checks that the error about contents without a hash has the
// hash to write, and that the contents are then not fetched again.
func TestHashToWrite(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked++; _, _ = w.Write([]byte("x")) }))
	defer server.Close()
	document := fmt.Sprintf(`{"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": "/etc/a", "contents": {
  "source": "%s/x?token=secret"}}]}}`, server.URL)
	dir := remoteSite(t, document)
	site := filepath.Join(dir, "site.hcl")
	code, _, stderr := runHoldfast(t, "validate", "-i", site)
	if code != engine.ExitUsage || !strings.Contains(stderr, "write verification.hash: "+hashOf("x")) || strings.Contains(stderr, "secret") {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	_, hash, _ := strings.Cut(strings.TrimSpace(stderr), "verification.hash: ")
	document = strings.Replace(document, `token=secret"`, `token=secret", "verification": {"hash": "`+hash+`"}`, 1)
	if err := os.WriteFile(filepath.Join(dir, "a.ign"), []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := runHoldfast(t, "validate", "-i", site); code != engine.ExitOK || asked != 1 {
		t.Errorf("exit %d, asked %d times: %s", code, asked, stderr)
	}
}
