package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Client sends the HTTP requests of gates.
type Client struct {
	Agent string // names the program to servers
}

// webTimeout limits a request, including redirects and body.
const webTimeout = 10 * time.Second

// maxBody limits the body of an answer to a gate, in bytes.
const maxBody = 1 << 20

// maxHeader limits the headers of an HTTP answer, in bytes.
const maxHeader = 1 << 20

// Get returns the status and at most the first MiB of the body. It follows
// redirects, uses the proxies of the environment, and verifies certificates
// with the system's roots. It opens a connection for each request, because a
// kept connection may lead to a server that was replaced. The error names the
// URL without the user and the query, which may be secret.
func (w Client) Get(ctx context.Context, address string) (int, []byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, webTimeout, fmt.Errorf("no answer within %s", webTimeout))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return 0, nil, errors.New("GET: the URL is not well formed") // the cause contains part of the URL
	}
	request.Header.Set("User-Agent", w.Agent)
	status, body, err := sendRequest(request)
	if err == nil {
		return status, body, nil
	}
	var wrapped *url.Error // contains the whole URL
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.As(err, &wrapped):
		err = wrapped.Err
	}
	u := url.URL{Scheme: request.URL.Scheme, Host: request.URL.Host, Path: request.URL.Path, RawPath: request.URL.RawPath}
	return 0, nil, fmt.Errorf("GET %s: %w", u.String(), err)
}

func sendRequest(request *http.Request) (int, []byte, error) {
	client := http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeader}}
	reply, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = reply.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(reply.Body, maxBody))
	return reply.StatusCode, body, err
}
