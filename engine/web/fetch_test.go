package web

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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

// TestSilentServer checks that a server that accepts connections and never answers is waited for once, and that the
// operator is told about the wait.
func TestSilentServer(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	told := make(chan string, 10)
	f := NewFetcher(t.Context(), func(string) {})
	f.answer, f.notice, f.Wait = 200*time.Millisecond, time.Nanosecond, func(text string) { told <- text }
	at := listener.Addr().String()
	hash := "sha256-" + strings.Repeat("0", 64)
	_, err = f.Fetch(config.Remote{URL: "http://ann:s3cret@" + at + "/1", Hash: hash})
	if err == nil || !strings.HasPrefix(err.Error(), at+" does not answer within 200ms") {
		t.Errorf("%v", err)
	}
	if text := <-told; text != "waiting for "+at+", at most 200ms for its answer" {
		t.Errorf("told: %q", text)
	}
	f.answer = time.Hour // a second wait would outlast the test
	_, err = f.Fetch(config.Remote{URL: "http://" + at + "/2", Hash: hash})
	if err == nil || err.Error() != at+" has not answered before, so it is not asked again" {
		t.Errorf("%v", err)
	}
	if limit, err := f.answerTime("other.example"); limit != fetchLess || err != nil {
		t.Errorf("another server has %s, %v", limit, err)
	}
}

// TestHeadersStayOnTheirServer checks that redirects carry the headers of a document, which may be tokens and passwords, to
// no other host and port, and not back to the first server.
func TestHeadersStayOnTheirServer(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var to string // where /go leads
	var got []string
	mux := http.NewServeMux()
	mux.HandleFunc("/go", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
	mux.HandleFunc("/back", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
	})
	mux.HandleFunc("/end", func(w http.ResponseWriter, r *http.Request) {
		got = append([]string{r.Header.Get("Referer")}, append(r.Header.Values("Private-Token"), r.Header.Values("Authorization")...)...)
		if r.URL.Query().Has("locked") {
			w.WriteHeader(http.StatusForbidden)
		}
	})
	first, second := httptest.NewServer(mux), httptest.NewServer(mux)
	defer first.Close()
	defer second.Close()
	byName := strings.Replace(first.URL, "127.0.0.1", "localhost", 1)
	for _, c := range []struct {
		to   string
		kept bool
		err  string
	}{
		{"/end", true, "its hash differs"},
		{first.URL + "/end", true, "its hash differs"},
		{byName + "/end", false, "its hash differs"},
		{second.URL + "/end", false, "its hash differs"},
		{second.URL + "/back?to=" + first.URL + "/end", false, "its hash differs"},
		{"/end?locked", true, "the server answers 403 Forbidden"},
		{second.URL + "/end?locked", false, "the server answers 403 Forbidden, without http_headers, because the address redirects to another server; write the final address"},
	} {
		to, got = c.to, nil
		_, err := NewFetcher(t.Context(), func(w string) { t.Error(w) }).Fetch(config.Remote{
			URL: first.URL + "/go?token=s3cret", Hash: "sha256-" + strings.Repeat("0", 64), Headers: [][2]string{{"PRIVATE-TOKEN", "s3cret"}, {"Authorization", "Bearer s3cret"}},
		})
		want := []string{""}
		if c.kept {
			want = []string{"", "s3cret", "Bearer s3cret"}
		}
		if err == nil || !strings.Contains(err.Error(), c.err) || (strings.HasPrefix(c.err, "the server") && err.Error() != c.err) || !slices.Equal(got, want) {
			t.Errorf("%s: sent %q: %v", c.to, got, err)
		}
	}
}

// TestOriginOf checks that an address without encryption is another server, and that a default port makes no difference.
func TestOriginOf(t *testing.T) {
	for address, isSame := range map[string]bool{
		"https://a.example:443/y": true, "https://A.example/": true, "http://a.example/": false, "http://a.example:443/": false,
		"https://a.example:8443/": false, "https://b.a.example/": false, "https://a.example.b/": false,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if (originOf(u) == originOf(&url.URL{Scheme: "https", Host: "a.example"})) != isSame {
			t.Errorf("%s: %q", address, originOf(u))
		}
	}
}
