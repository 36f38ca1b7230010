package kube

import (
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
	"time"

	"holdfast/engine/kubefacts"
)

// causeType is the type of a cause.
type causeType string

// budgetCauses has the type of a refusal by a PodDisruptionBudget.
var budgetCauses = map[causeType]bool{"DisruptionBudget": true}

// statusError is an answer with a status other than 2xx.
type statusError struct {
	code    int
	message string        // of the Status in its body
	reason  statusReason  // of the Status; "": it has none
	causes  []statusCause // in its details
	after   time.Duration // Retry-After; 0: none
}

// statusReason is the reason of a Status, see k8s.io/apimachinery/pkg/apis/meta/v1. The refusal of a pod with two budgets has none.
type statusReason string

const noReason statusReason = ""

// goneReasons has the reason of an API that does not have the object. A proxy without a server answers 404, too, and has no Status.
var goneReasons = map[statusReason]bool{"NotFound": true}

// statusCause is one cause in the details of a Status.
type statusCause struct {
	Reason  causeType `json:"reason"`
	Message string    `json:"message"`
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

// slowError is the end of the time for all answers.
type slowError struct{ limit time.Duration }

// Error tells the limit.
func (e *slowError) Error() string { return fmt.Sprintf("not all answers within %s", e.limit) }

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
		Kind    string       `json:"kind"`
		Message string       `json:"message"`
		Reason  statusReason `json:"reason"`
		Details struct {
			Causes []statusCause `json:"causes"`
		} `json:"details"`
	}
	text, _ := io.ReadAll(io.LimitReader(body, maxStatus)) // the code tells enough
	after, _ := strconv.Atoi(res.Header.Get("Retry-After"))
	e := &statusError{code: res.StatusCode, after: time.Duration(max(0, min(after, 3600))) * time.Second}
	if json.Unmarshal(text, &status) == nil && status.Kind == "Status" {
		e.message, e.reason, e.causes = shortenText(status.Message), status.Reason, status.Details.Causes
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
	argument := "kubeconfig"
	var status *statusError
	var slow *slowError
	switch {
	case errors.As(err, &status):
		kind, hint = classifyStatus(status.code)
	case errors.As(err, &slow):
		argument, hint = "timeout", "find out whether the API server runs; if it is only slow, set a longer timeout in its kubernetes block"
	}
	return problemAt(c.cluster, argument, kubefacts.Problem{Kind: kind, Cause: fmt.Sprintf("%s: %s", doing, errorText(withoutURL(err))), Hint: hint})
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
