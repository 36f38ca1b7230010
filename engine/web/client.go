package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
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
	client := http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeader},
		CheckRedirect: checkRedirect,
	}
	reply, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = reply.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(reply.Body, maxBody))
	return reply.StatusCode, body, err
}

// maxRedirects limits the redirects of a request.
const maxRedirects = 10

// checkRedirect sends the headers of the first request, which may be secret, only to its server. Once a redirect has led to
// another host or port, or away from https, they are not sent any more, also not back to the first server: another server has
// chosen the address. A referrer is never sent, because the query of an address may be secret.
func checkRedirect(next *http.Request, before []*http.Request) error {
	if len(before) >= maxRedirects {
		return fmt.Errorf("more than %d redirects; write the final address", maxRedirects)
	}
	next.Header.Del("Referer")
	if leavesServer(next, before) {
		agent := next.UserAgent()
		next.Header = http.Header{}
		if agent != "" {
			next.Header.Set("User-Agent", agent)
		}
	}
	return nil
}

func leavesServer(last *http.Request, before []*http.Request) bool {
	first := originOf(before[0].URL)
	return originOf(last.URL) != first || slices.ContainsFunc(before, func(r *http.Request) bool { return originOf(r.URL) != first })
}

// originOf returns the scheme, host and port of an address.
func originOf(u *url.URL) [3]string {
	defaults := map[string]string{"http": "80", "https": "443"}
	return [3]string{u.Scheme, strings.ToLower(u.Hostname()), cmp.Or(u.Port(), defaults[u.Scheme])}
}
