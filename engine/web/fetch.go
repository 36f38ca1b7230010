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
	"time"

	"holdfast/engine/config"
)

// Fetcher downloads the files that configurations name by address and hash. It
// caches them, so that a bastion needs the network only once.
type Fetcher struct {
	ctx  context.Context
	dir  string // cache, by hash; "": none
	warn func(string)
}

// Timeouts of a request: until the answer begins, and in total.
const (
	fetchAnswer = 30 * time.Second
	fetchWhole  = 10 * time.Minute
)

// NewFetcher returns a fetcher with a cache in the operator's cache folder. It
// warns about contents that it cannot keep there.
func NewFetcher(ctx context.Context, warn func(string)) *Fetcher {
	f := &Fetcher{ctx: ctx, warn: warn}
	if cache, err := os.UserCacheDir(); err == nil {
		f.dir = filepath.Join(cache, "holdfast", "contents")
	}
	return f
}

var hashRule = regexp.MustCompile(`^sha(256|512)-[0-9a-f]+$`)

// Fetch returns verified contents, if possible from the cache.
func (f *Fetcher) Fetch(r config.Remote) ([]byte, error) {
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
	if err == nil && f.dir != "" {
		if err := writeCached(f.dir, hash, data); err != nil {
			f.warn(fmt.Sprintf("contents from %s are not kept for later: %v", r.Redacted(), err))
		}
	}
	return data, err
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
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: fetchAnswer}).DialContext,
		TLSHandshakeTimeout:   fetchAnswer,
		ResponseHeaderTimeout: fetchAnswer,
		DisableCompression:    true, // the hash is of the bytes as served
		ForceAttemptHTTP2:     true,

		MaxResponseHeaderBytes: maxHeader,
	}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport, Timeout: fetchWhole}).Do(request)
	if err != nil {
		return nil, withoutAddress(err)
	}
	defer func() { _ = response.Body.Close() }() // only read
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answers %d %s", response.StatusCode, http.StatusText(response.StatusCode))
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
