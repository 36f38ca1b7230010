package kube

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"holdfast/engine"
	"holdfast/engine/kubefacts"
)

// Limits of requests.
const (
	requestTime = 20 * time.Second // of one request with its answer; an API without its etcd answers after 34 s, or never
	maxAnswer   = 64 << 20         // bytes of one answer, unpacked; an object has at most 1.5 MiB
	maxTries    = 3                // requests for one answer, if the API is busy
	maxPause    = 10 * time.Second // between two tries, even if the API asks for a longer one
)

// Client reads one cluster, and drains its nodes. It reads the kubeconfig at the first request, and again after the API has refused the
// credentials.
type Client struct {
	cluster engine.KubernetesCluster
	bastion Bastion

	mu      sync.Mutex // held while logging in
	http    *http.Client
	server  string
	expires time.Time // of the credentials; zero: not known

	clock clockWatch
}

// open returns the HTTP client with credentials, and the URL of the server.
func (c *Client) open(ctx context.Context) (*http.Client, string, *kubefacts.Problem) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const margin = time.Minute
	if c.http != nil && (c.expires.IsZero() || c.bastion.Now().Add(margin).Before(c.expires)) {
		return c.http, c.server, nil
	}
	l, problem := readLogin(c.cluster, c.bastion.Files, c.bastion.Now())
	if problem != nil {
		return nil, "", problem
	}
	config, expires := l.config, time.Time{}
	if l.plugin != nil {
		if config, expires, problem = c.askPlugin(ctx, l); problem != nil {
			return nil, "", problem
		}
	}
	config.UserAgent = c.bastion.Agent
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, "", problemAt(c.cluster, "kubeconfig", kubefacts.Problem{Kind: kubefacts.KubeconfigInvalid, Cause: fmt.Sprintf("%s cannot be used: %s", c.cluster.Kubeconfig, errorText(err)), Hint: "compare it with: kubectl config view"})
	}
	own := *client                                                                                    // http.DefaultClient belongs to others
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // another server must not get the credentials
	c.http, c.server, c.expires = &own, strings.TrimSuffix(serverURL(config), "/"), expires
	return c.http, c.server, nil
}

func serverURL(config *rest.Config) string {
	if strings.Contains(config.Host, "://") {
		return config.Host
	}
	return "https://" + config.Host
}

func (c *Client) forgetLogin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.http = nil
}

// request is one request to an API.
type request struct {
	method string
	path   string // with its query
	kind   string // Content-Type of the body
	body   any    // as JSON; nil: none
}

// get decodes the answer to a GET. It tries again while the API is busy.
func (c *Client) get(ctx context.Context, path string, into any) error {
	return c.send(ctx, request{method: http.MethodGet, path: path}, into)
}

// post creates an object. It is not repeated: a refusal of an eviction has the code of a busy API.
func (c *Client) post(ctx context.Context, path string, body, into any) error {
	return c.send(ctx, request{http.MethodPost, path, "application/json", body}, into)
}

// send decodes the answer to a request. It logs in again once, and repeats a GET while the API is busy.
func (c *Client) send(ctx context.Context, r request, into any) error {
	loggedIn := false
	for try := 1; ; try++ {
		err := c.sendOnce(ctx, r, into)
		var status *statusError
		if !errors.As(err, &status) {
			return err
		}
		busy := r.method == http.MethodGet && (status.code == http.StatusTooManyRequests || status.code >= http.StatusInternalServerError)
		switch {
		case status.code == http.StatusUnauthorized && !loggedIn: // a token may have been replaced
			loggedIn = true
			c.forgetLogin()
		case !busy || try >= maxTries:
			return err
		case c.bastion.Sleep(ctx, min(cmp.Or(status.after, time.Second), maxPause)) != nil:
			return err
		}
	}
}

func (c *Client) sendOnce(ctx context.Context, r request, into any) error {
	client, server, problem := c.open(ctx)
	if problem != nil {
		return problem
	}
	ctx, cancel := context.WithTimeoutCause(ctx, requestTime, fmt.Errorf("no answer within %s", requestTime))
	defer cancel()
	req, err := newHTTPRequest(ctx, server, r)
	if err != nil {
		return err
	}
	asked := c.bastion.Now()
	res, err := client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	defer func() { _ = res.Body.Close() }()
	c.clock.compareDate(res.Header.Get("Date"), asked, c.bastion.Now())
	body := &io.LimitedReader{R: res.Body, N: maxAnswer}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return readStatus(res, body)
	}
	if kind := contentType(res); kind != "application/json" {
		return &notKubernetesError{"of type " + strconv.Quote(shortenText(kind))}
	}
	switch err := decodeInto(json.NewDecoder(body), into); {
	case err == nil:
		return nil
	case body.N <= 0:
		return tooLargeError{}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return decodeError(err)
	}
}

// decodeInto decodes one value. A page decodes itself.
func decodeInto(d *json.Decoder, into any) error {
	if own, ok := into.(interface{ decodeFrom(d *json.Decoder) error }); ok {
		return own.decodeFrom(d)
	}
	return d.Decode(into)
}

func newHTTPRequest(ctx context.Context, server string, r request) (*http.Request, error) {
	body := io.Reader(http.NoBody)
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, server+r.path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	if r.kind != "" {
		req.Header.Set("Content-Type", r.kind)
	}
	return req, nil
}
