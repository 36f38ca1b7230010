package web

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestWeb checks that the status and the beginning of the body are returned
// unchanged, after redirects.
func TestWeb(t *testing.T) {
	var connections atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		_, _ = w.Write([]byte(user + " " + password + " " + r.URL.RawQuery + " " + strings.SplitN(r.UserAgent(), "/", 2)[0]))
	})
	mux.HandleFunc("/down", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusServiceUnavailable) })
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/down", http.StatusFound) })
	mux.HandleFunc("/asked", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/from", http.StatusFound) })
	mux.HandleFunc("/from", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("[" + r.Referer() + "]")) })
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, maxBody+1)) })
	server := httptest.NewUnstartedServer(mux)
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	at := strings.Replace(server.URL, "http://", "http://ann:s3cret@", 1)
	for path, want := range map[string]struct {
		status int
		body   string
	}{
		"/ok?a=b%2Fc": {200, "ann s3cret a=b%2Fc holdfast"}, "/down": {503, "no\n"}, "/moved": {503, "no\n"}, "/none": {404, "404 page not found\n"},
		"/asked?k=s3cret": {200, "[]"},
		"/large":          {200, string(make([]byte, maxBody))},
	} {
		status, body, err := Client{Agent: "holdfast/1"}.Get(t.Context(), at+path)
		if err != nil || status != want.status || string(body) != want.body {
			t.Errorf("%s: %d %.50q %v", path, status, body, err)
		}
	}
	before := connections.Load()
	for range 2 {
		if _, _, err := (Client{}).Get(t.Context(), at+"/down"); err != nil {
			t.Fatal(err)
		}
	}
	if n := connections.Load() - before; n != 2 {
		t.Errorf("two questions went over %d connections", n)
	}
}

// TestWebErrors checks that connection errors contain the URL without its
// secret parts.
func TestWebErrors(t *testing.T) {
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("half"))
	})
	mux.HandleFunc("/hangs", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.String(), http.StatusFound) })
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, dead.URL+"/x?k=s3cret", http.StatusFound)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	secure := httptest.NewUnstartedServer(mux)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	for address, words := range map[string]string{
		dead.URL + "/a%2Fb?k=s3cret":          "GET " + dead.URL + "/a%2Fb: dial tcp",
		server.URL + "/cut?k=s3cret":          "GET " + server.URL + "/cut: unexpected EOF",
		server.URL + "/loop?k=s3cret":         "GET " + server.URL + "/loop: more than 10 redirects; write the final address",
		server.URL + "/away?k=s3cret":         "GET " + server.URL + "/away: dial tcp",
		server.URL + "/hangs?k=s3cret":        "GET " + server.URL + "/hangs: not done within 5m0s",
		secure.URL + "/cut?k=s3cret":          "certificate",
		"ftp://x/?k=s3cret":                   "unsupported protocol scheme",
		"http://ann:s3cret/@x/":               "not well formed",
		"http://[fe80::1%25eth0]:bad/?s3cret": "not well formed",
	} {
		address := strings.Replace(address, "://127", "://ann:s3cret@127", 1)
		ctx, cancel := t.Context(), context.CancelFunc(func() {})
		if strings.Contains(address, "/hangs") {
			ctx, cancel = context.WithTimeoutCause(ctx, 200*time.Millisecond, errors.New("not done within 5m0s"))
		}
		_, _, err := Client{Agent: "holdfast/1"}.Get(ctx, address)
		cancel()
		if err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
