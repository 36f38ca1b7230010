package kube

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
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

// Client reads one cluster. It reads the kubeconfig at the first request, and again after the API has refused the
// credentials.
type Client struct {
	cluster engine.KubernetesCluster
	bastion Bastion

	mu      sync.Mutex // held while logging in
	http    *http.Client
	server  string
	expires time.Time // of the credentials; zero: not known
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

// statusError is an answer with a status other than 2xx.
type statusError struct {
	code    int
	message string        // of the Status in its body
	after   time.Duration // Retry-After; 0: none
}

// Error returns the status and the message of the API.
func (e *statusError) Error() string {
	text := strings.TrimSpace(fmt.Sprintf("%d %s", e.code, http.StatusText(e.code)))
	if e.message != "" {
		text += ": " + e.message
	}
	return text
}

// notKubernetesError is an answer that no API of Kubernetes gives.
type notKubernetesError struct{ found string }

// Error describes the answer.
func (e *notKubernetesError) Error() string { return "the answer is " + e.found }

// tooLargeError is an answer with more bytes than maxAnswer.
type tooLargeError struct{}

// Error tells the limit.
func (tooLargeError) Error() string {
	return fmt.Sprintf("the answer has more than %d MiB", maxAnswer>>20)
}

// get decodes the answer to a GET. It tries again while the API is busy, and logs in again once.
func (c *Client) get(ctx context.Context, path string, into any) error {
	loggedIn := false
	for try := 1; ; try++ {
		err := c.getOnce(ctx, path, into)
		var status *statusError
		if !errors.As(err, &status) {
			return err
		}
		busy := status.code == http.StatusTooManyRequests || status.code >= http.StatusInternalServerError
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

func (c *Client) getOnce(ctx context.Context, path string, into any) error {
	client, server, problem := c.open(ctx)
	if problem != nil {
		return problem
	}
	ctx, cancel := context.WithTimeoutCause(ctx, requestTime, fmt.Errorf("no answer within %s", requestTime))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server+path, http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	res, err := client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	defer func() { _ = res.Body.Close() }()
	body := &io.LimitedReader{R: res.Body, N: maxAnswer}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return readStatus(res, body)
	}
	if kind := contentType(res); kind != "application/json" {
		return &notKubernetesError{"of type " + strconv.Quote(shortenText(kind))}
	}
	switch err := json.NewDecoder(body).Decode(into); {
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

// decodeError tells a connection that broke from an answer that is not of Kubernetes.
func decodeError(err error) error {
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	var when *time.ParseError
	if errors.As(err, &syntax) || errors.As(err, &wrong) || errors.As(err, &when) {
		return &notKubernetesError{"not as expected: " + errorText(err)}
	}
	return err
}

func contentType(res *http.Response) string {
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		return res.Header.Get("Content-Type")
	}
	return kind
}

// readStatus makes an error of an answer. An answer that has no Status is of another program: a proxy, or a page to log in.
func readStatus(res *http.Response, body io.Reader) error {
	const maxStatus = 64 << 10
	var status struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
	}
	text, _ := io.ReadAll(io.LimitReader(body, maxStatus)) // the code tells enough
	after, _ := strconv.Atoi(res.Header.Get("Retry-After"))
	e := &statusError{code: res.StatusCode, after: time.Duration(max(0, min(after, 3600))) * time.Second}
	if json.Unmarshal(text, &status) == nil && status.Kind == "Status" {
		e.message = shortenText(status.Message)
	} else if e.code < http.StatusUnauthorized || contentType(res) == "text/html" && e.code < http.StatusInternalServerError {
		return &notKubernetesError{fmt.Sprintf("%d %s, of type %s", e.code, http.StatusText(e.code), strconv.Quote(shortenText(contentType(res))))}
	}
	return e
}

// describeError returns the problem of a request that failed.
func (c *Client) describeError(doing string, err error) *kubefacts.Problem {
	var problem *kubefacts.Problem
	if errors.As(err, &problem) {
		return problem
	}
	kind, hint := classifyError(err)
	var status *statusError
	if errors.As(err, &status) {
		kind, hint = classifyStatus(status.code)
	}
	return problemAt(c.cluster, "kubeconfig", kubefacts.Problem{Kind: kind, Cause: fmt.Sprintf("%s: %s", doing, errorText(withoutURL(err))), Hint: hint})
}

func classifyStatus(code int) (kubefacts.ProblemKind, string) {
	switch {
	case code == http.StatusUnauthorized:
		return kubefacts.Unauthorized, "renew the token or the certificate of the user in the kubeconfig"
	case code == http.StatusForbidden:
		return kubefacts.Forbidden, "give the user the role of docs/kubernetes.md; an API that has just started also answers so, until it is ready"
	case code == http.StatusTooManyRequests:
		return kubefacts.TooManyRequests, "try again later: the API limits its clients"
	case code == http.StatusGone:
		return kubefacts.ListExpired, "try again: the API forgot the list before its last page"
	case code >= http.StatusInternalServerError:
		return kubefacts.ServerError, "find out whether the API server has its etcd"
	}
	return kubefacts.NotKubernetes, "find out whether the server in the kubeconfig is an API of Kubernetes"
}

func classifyError(err error) (kubefacts.ProblemKind, string) {
	var foreign *notKubernetesError
	var unverified *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &tooLargeError{}):
		return kubefacts.TooLarge, "find out whether the server in the kubeconfig is an API of Kubernetes"
	case errors.As(err, &foreign), errors.As(err, &record):
		return kubefacts.NotKubernetes, "find out whether the server in the kubeconfig is an API of Kubernetes: a proxy or a page to log in may answer instead"
	case errors.As(err, &unverified), errors.As(err, &authority), errors.As(err, &name):
		return kubefacts.ServerUntrusted, "compare certificate-authority in the kubeconfig, and the clock of the bastion, with the certificate of the server"
	case errors.As(err, &endlessListError{}):
		return kubefacts.ListEndless, "find out whether the server in the kubeconfig is an API of Kubernetes"
	}
	return kubefacts.Unreachable, "find out whether the API server runs, and whether the bastion reaches it"
}

// withoutURL removes the URL that net/http puts before each cause: it is long, and the operator knows the cluster.
func withoutURL(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op
	}
	type unwrapper interface{ Unwrap() error }
	var timeout net.Error
	if u, ok := err.(unwrapper); ok && errors.As(err, &timeout) && u.Unwrap() != nil { //nolint:errorlint // only the outermost *url.Error
		return u.Unwrap()
	}
	return err
}
