package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"holdfast/engine/config"
)

// Fetcher downloads the files that configurations name by address and hash. It
// caches them, so that a bastion needs the network only once.
type Fetcher struct {
	ctx  context.Context
	dir  string // cache, by hash; "": none
	warn func(string)
	Wait func(string) // called if an answer takes long, before it has come; nil: nobody is told

	answer, notice time.Duration // replace fetchAnswer and fetchNotice in tests

	mu     sync.Mutex
	silent map[string]bool // servers that did not answer
}

// Timeouts of a request: until the answer begins, and in total.
const (
	fetchAnswer = 30 * time.Second
	fetchLess   = 5 * time.Second // in place of fetchAnswer, after a server has not answered
	fetchNotice = 5 * time.Second // until the operator is told
	fetchWhole  = 10 * time.Minute
)

// NewFetcher returns a fetcher with a cache in the operator's cache folder. It
// warns about contents that it cannot keep there.
func NewFetcher(ctx context.Context, warn func(string)) *Fetcher {
	f := &Fetcher{ctx: ctx, warn: warn, answer: fetchAnswer, notice: fetchNotice, silent: map[string]bool{}}
	if cache, err := os.UserCacheDir(); err == nil {
		f.dir = filepath.Join(cache, "holdfast", "contents")
	}
	return f
}

var hashRule = regexp.MustCompile(`^sha(256|512)-[0-9a-f]+$`)

// Fetch returns verified contents, if possible from the cache. It downloads
// contents without a hash, and keeps them by their hash for the next time.
func (f *Fetcher) Fetch(r config.Remote) ([]byte, error) {
	if r.Hash == "" {
		fetched, err := f.download(r)
		if err != nil {
			return nil, err
		}
		data, err := r.Contents(fetched)
		if err == nil {
			f.keepContents(r, config.HashOf(data), data)
		}
		return data, err
	}
	hash := strings.ToLower(r.Hash)
	if !hashRule.MatchString(hash) {
		return nil, errors.New("its hash is of no known kind")
	}
	if kept, err := os.ReadFile(filepath.Join(f.dir, hash)); f.dir != "" && err == nil {
		if data, err := (config.Remote{Hash: r.Hash}).Contents(kept); err == nil {
			return data, nil
		}
	}
	fetched, err := f.download(r)
	if err != nil {
		return nil, err
	}
	data, err := r.Contents(fetched)
	if err == nil {
		f.keepContents(r, hash, data)
	}
	return data, err
}

// keepContents writes contents into the cache.
func (f *Fetcher) keepContents(r config.Remote, hash string, data []byte) {
	if f.dir == "" {
		return
	}
	if err := writeCached(f.dir, hash, data); err != nil {
		f.warn(fmt.Sprintf("contents from %s are not kept for later: %v", r.Redacted(), err))
	}
}

// download returns errors without the address, which may include a password.
func (f *Fetcher) download(r config.Remote) ([]byte, error) {
	request, err := http.NewRequestWithContext(f.ctx, http.MethodGet, r.URL, nil)
	if err != nil {
		return nil, errors.New("it is no address; correct it")
	}
	for _, h := range r.Headers {
		request.Header.Add(h[0], h[1])
	}
	server := serverOf(request)
	limit, err := f.answerTime(server)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(f.ctx)
	defer cancel(nil)
	late := time.AfterFunc(limit, func() { cancel(errSilent) }) // one limit for name, connection, TLS and answer
	defer late.Stop()
	defer f.tellLater(server, limit)()
	request = request.WithContext(ctx)
	transport := &http.Transport{
		Proxy:              http.ProxyFromEnvironment,
		DisableCompression: true, // the hash is of the bytes as served
		ForceAttemptHTTP2:  true,

		MaxResponseHeaderBytes: maxHeader,
	}
	defer transport.CloseIdleConnections()
	leftServer := false
	client := &http.Client{Transport: transport, Timeout: fetchWhole, CheckRedirect: func(next *http.Request, before []*http.Request) error {
		leftServer = leavesServer(next, before)
		return checkRedirect(next, before)
	}}
	response, err := client.Do(request)
	late.Stop()
	if errors.Is(context.Cause(ctx), errSilent) {
		f.noteSilent(server)
		return nil, fmt.Errorf("%s does not answer within %s; check it and the proxies of the environment", server, limit)
	}
	if err != nil {
		return nil, withoutAddress(err)
	}
	defer func() { _ = response.Body.Close() }() // only read
	if response.StatusCode != http.StatusOK {
		err := fmt.Errorf("the server answers %d %s", response.StatusCode, http.StatusText(response.StatusCode))
		if leftServer && len(r.Headers) > 0 {
			err = fmt.Errorf("%w, without http_headers, because the address redirects to another server; write the final address", err)
		}
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, config.MaxRemote+1)) // the caller refuses longer contents
	if err != nil {
		return nil, withoutAddress(err)
	}
	return data, nil
}

func withoutAddress(err error) error {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return errors.New("there is no answer in time")
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

func writeCached(dir, name string, data []byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		_ = os.Remove(temp.Name()) // only the first error matters
	}
	return err
}

var errSilent = errors.New("no answer")

// serverOf returns the server that a request goes to: the host of its address, or a proxy.
func serverOf(r *http.Request) string {
	if proxy, err := http.ProxyFromEnvironment(r); err == nil && proxy != nil {
		return "the proxy " + proxy.Host
	}
	return r.URL.Host
}

// answerTime returns the time for an answer. A server that has not answered is not asked again, and after it all others
// have less time, so that many addresses do not take many times as long.
func (f *Fetcher) answerTime(server string) (time.Duration, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.silent[server]:
		return 0, fmt.Errorf("%s has not answered before, so it is not asked again", server)
	case len(f.silent) > 0:
		return min(f.answer, fetchLess), nil
	}
	return f.answer, nil
}

func (f *Fetcher) noteSilent(server string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.silent[server] = true
}

// tellLater tells the operator about a server that takes long. end ends that.
func (f *Fetcher) tellLater(server string, limit time.Duration) (end func()) {
	if f.Wait == nil {
		return func() {}
	}
	told := make(chan struct{})
	timer := time.AfterFunc(f.notice, func() {
		defer close(told)
		f.Wait(fmt.Sprintf("waiting for %s, at most %s for its answer", server, limit))
	})
	return func() {
		if !timer.Stop() {
			<-told
		}
	}
}
