package redfish

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"holdfast/engine/textutil"
)

// Kind is the kind of an error of a BMC.
type Kind string

// The kinds of errors.
const (
	Unreachable Kind = "unreachable" // it does not answer, or not in time
	Certificate Kind = "certificate" // another certificate than the inventory expects
	Login       Kind = "login"       // it refuses user or password
	NoRedfish   Kind = "no-redfish"  // its answer is not of Redfish
	TooLarge    Kind = "too-large"   // its answer has more than 1 MiB
	Redirect    Kind = "redirect"    // it leads to another address
	NoSystem    Kind = "no-system"   // it does not have the system
	Refused     Kind = "refused"     // it refuses the request, or does not offer it
)

// Error is an error of a BMC, with the next step.
type Error struct {
	Kind    Kind
	Address string
	Cause   string
	Next    string

	MaybeDone bool // the BMC may have carried out the reset
}

// Error returns one line.
func (e *Error) Error() string { return fmt.Sprintf("BMC %s: %s; %s", e.Address, e.Cause, e.Next) }

// classify returns an *Error. Texts of the BMC are cut and made printable; none of them decides about the kind.
func (c *Client) classify(err error) error {
	e := c.kindOf(err)
	e.Address = c.config.Address
	if e.Next == "" {
		e.Next = nextSteps[e.Kind]
	}
	const longest = 300
	login := base64.StdEncoding.EncodeToString([]byte(c.config.User + ":" + string(c.config.Password)))
	hidden := textutil.NewSecrets([]string{string(c.config.Password), login}) // a BMC may repeat a request in its answer
	e.Cause = onOneLine(hidden.Hide(e.Cause))
	if len(e.Cause) > longest {
		e.Cause = textutil.Printable(e.Cause[:longest]) + "…"
	}
	return e
}

func onOneLine(text string) string {
	return textutil.Printable(strings.Join(strings.Fields(text), " "))
}

var nextSteps = map[Kind]string{
	Unreachable: "check its address in the bmc block, its network, and that it is up",
	Certificate: "compare the certificate with the BMC, and correct ca or fingerprint in the bmc block",
	Login:       "correct user or password in the bmc block, and check that the account may use Redfish",
	NoRedfish:   "check the address in the bmc block, and that Redfish is switched on",
	TooLarge:    "check that the address in the bmc block is the one of a BMC",
	Redirect:    "give the bmc block the address that serves Redfish itself",
	NoSystem:    "correct system in the bmc block",
	Refused:     "look at the log of the BMC, or switch the power by hand",
}

func (c *Client) kindOf(err error) *Error {
	var own *Error
	var pin *pinError
	var ended *endError
	var network net.Error
	switch status := statusOf(err); {
	case errors.As(err, &own):
		return own
	case c.traffic.tooLarge.Load():
		return &Error{Kind: TooLarge, Cause: "its answer has more than 1 MiB"}
	case c.traffic.foreign.Load():
		return &Error{Kind: Redirect, Cause: "it names a resource on another server"}
	case errors.As(err, &pin):
		return &Error{Kind: Certificate, Cause: pin.Error()}
	case isCertificateError(err):
		return &Error{Kind: Certificate, Cause: unwrapURL(err).Error()}
	case errors.As(err, &ended) && errors.Is(ended.cause, errSlow):
		return &Error{Kind: Unreachable, Cause: fmt.Sprintf("it did not answer within %s", c.timeout)}
	case errors.As(err, &ended):
		return &Error{Kind: Unreachable, Cause: "it did not answer: " + ended.Error()}
	case status >= 300 && status < 400:
		return &Error{Kind: Redirect, Cause: fmt.Sprintf("it redirects to another address (HTTP status %d)", status)}
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return &Error{Kind: Login, Cause: fmt.Sprintf("it refuses the login (HTTP status %d)", status)}
	case status == http.StatusNotFound && c.config.System != "":
		return &Error{Kind: NoSystem, Cause: fmt.Sprintf("it has no system %q", c.config.System)}
	case status == http.StatusNotFound:
		return &Error{Kind: NoRedfish, Cause: "it serves no Redfish (HTTP status 404)"}
	case status != 0:
		return &Error{Kind: Refused, Cause: fmt.Sprintf("it refuses the request (HTTP status %d): %s", status, err.Error())}
	case errors.As(err, &network), errors.Is(err, io.EOF) && isURLError(err):
		return &Error{Kind: Unreachable, Cause: unwrapURL(err).Error()}
	}
	return &Error{Kind: NoRedfish, Cause: "its answer cannot be read as Redfish: " + unwrapURL(err).Error()}
}

// statusOf returns the HTTP status of an answer that is no success, or 0.
func statusOf(err error) int {
	var answer *statusError
	if errors.As(err, &answer) {
		return answer.status
	}
	return 0
}

func isCertificateError(err error) bool {
	var verify *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	return errors.As(err, &verify) || errors.As(err, &unknown) || errors.As(err, &name) || errors.As(err, &invalid) || errors.As(err, &record)
}

func isURLError(err error) bool {
	var u *url.Error
	return errors.As(err, &u)
}

// unwrapURL returns the error of a request without its address, which the message has already.
func unwrapURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
