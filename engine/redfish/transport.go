package redfish

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
)

func tlsConfig(c Config) *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.Roots}
	if c.Fingerprint == "" {
		return config
	}
	config.InsecureSkipVerify = true //nolint:gosec // the fingerprint replaces the check of the chain
	config.VerifyConnection = func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) == 0 {
			return &pinError{}
		}
		sum := sha256.Sum256(s.PeerCertificates[0].Raw)
		if found := hex.EncodeToString(sum[:]); !strings.EqualFold(found, strings.ReplaceAll(c.Fingerprint, ":", "")) {
			return &pinError{found}
		}
		return nil
	}
	return config
}

// pinError is the error of a certificate with another fingerprint.
type pinError struct{ found string }

// Error has the fingerprint that was found.
func (e *pinError) Error() string { return "its certificate has the SHA-256 fingerprint " + e.found }

func hostPort(address string) string {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	if strings.Contains(address, ":") { // an IPv6 address
		return "[" + strings.Trim(address, "[]") + "]"
	}
	return address
}

// traffic bounds the answers of a BMC, and keeps its credentials from other servers: a BMC names the addresses of its resources.
type traffic struct {
	next     *http.Transport
	host     string
	tooLarge atomic.Bool
	foreign  atomic.Bool
}

// RoundTrip refuses requests to other servers.
func (t *traffic) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" || r.URL.Host != t.host || r.URL.User != nil {
		t.foreign.Store(true)
		return nil, errors.New("it names a resource on another server")
	}
	answer, err := t.next.RoundTrip(r)
	if err == nil {
		answer.Body = &boundedBody{ReadCloser: answer.Body, left: maxBody, traffic: t}
	}
	return answer, err
}

// CloseIdleConnections lets http.Client close the connection at the end of a call.
func (t *traffic) CloseIdleConnections() { t.next.CloseIdleConnections() }

type boundedBody struct {
	io.ReadCloser
	left    int
	traffic *traffic
}

// Read returns an error beyond the limit.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.traffic.tooLarge.Store(true)
		return 0, errors.New("the answer is too large")
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// request is one request to a BMC.
type request struct {
	method string // "": GET
	path   string // as the BMC names it
	etag   string // of the state of the resource that the request is about; "": any
	body   any
	into   any // gets the JSON of the answer; nil: it is ignored
}

// statusError is an answer with an HTTP status that is no success.
type statusError struct {
	status int
	text   string
}

// Error returns the answer, which may repeat the password.
func (e *statusError) Error() string { return e.text }

func (c *Client) send(ctx context.Context, r request) (http.Header, error) {
	target, err := url.Parse("https://" + c.traffic.host + r.path)
	if err != nil || !strings.HasPrefix(r.path, "/") {
		return nil, &Error{Kind: Redirect, Cause: "it names a resource on another server"}
	}
	var body io.Reader
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	q, err := http.NewRequestWithContext(ctx, cmp.Or(r.method, http.MethodGet), target.String(), body)
	if err != nil {
		return nil, err
	}
	q.SetBasicAuth(c.config.User, string(c.config.Password))
	q.Header.Set("Accept", "application/json")
	q.Header.Set("OData-Version", "4.0")
	if r.body != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	if r.etag != "" {
		q.Header.Set("If-Match", r.etag)
	}
	answer, err := c.http.Do(q)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }() // its contents are read
	text, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return nil, err
	case answer.StatusCode < 200 || answer.StatusCode > 299:
		return nil, &statusError{answer.StatusCode, string(text)}
	case r.into != nil:
		return answer.Header, json.Unmarshal(text, r.into)
	}
	return answer.Header, nil
}
