package redfish

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptrace"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"holdfast/engine/power"
)

// Config has the settings to reach a BMC.
type Config struct {
	Address     string // name or IP address, with or without a port
	System      string // ID of the system of the host; "": the BMC has only one
	Roots       *x509.CertPool
	Fingerprint string // SHA-256 of the certificate of the BMC, in hexadecimal digits; "": Roots decide
	User        string
	Password    []byte
}

// Client is a power.Controller. It sends the password with each request, so it leaves no session on the BMC.
type Client struct {
	config  Config
	traffic *traffic
	http    *http.Client
	timeout time.Duration
}

const (
	callTimeout = 9 * time.Second // of one call, with all its requests
	maxBody     = 1 << 20         // bytes of one answer
	maxHeader   = 64 << 10        // bytes of the headers of one answer
)

// New does not connect.
func New(c Config) *Client {
	t := &http.Transport{
		TLSClientConfig:        tlsConfig(c),
		MaxResponseHeaderBytes: maxHeader,
		ForceAttemptHTTP2:      false, // some BMCs offer it, and do not speak it well
		TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{},
		MaxConnsPerHost:        1,
		TLSHandshakeTimeout:    callTimeout,
		IdleConnTimeout:        time.Minute,
	}
	guard := &traffic{next: t, host: hostPort(c.Address)}
	return &Client{
		config: c, traffic: guard, timeout: callTimeout,
		http: &http.Client{Transport: guard, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

// withSystem calls do with the system of the host as it is now.
func (c *Client) withSystem(ctx context.Context, do func(context.Context, system) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, errSlow)
	defer cancel()
	defer c.http.CloseIdleConnections()
	s, err := c.openSystem(ctx)
	if err == nil {
		err = do(ctx, s)
	}
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = &endError{cause}
	}
	return c.classify(err)
}

// endError is the end of the context of a call.
type endError struct{ cause error }

// Error returns the cause.
func (e *endError) Error() string { return e.cause.Error() }

var errSlow = errors.New("it did not answer in time")

// openSystem reads the root of the service first, which shows whether it is one.
func (c *Client) openSystem(ctx context.Context) (s system, err error) {
	var root struct{ Systems link }
	_, err = c.send(ctx, request{path: "/redfish/v1/", into: &root})
	switch {
	case statusOf(err) == http.StatusNotFound:
		return s, &Error{Kind: NoRedfish, Cause: "it serves no Redfish (HTTP status 404)"}
	case err != nil:
		return s, err
	}
	if root.Systems.ID == "" {
		return s, &Error{Kind: NoRedfish, Cause: "its answer is not the root of a service of Redfish"}
	}
	at := strings.TrimSuffix(root.Systems.ID, "/") + "/" + c.config.System
	if strings.HasSuffix(root.Systems.ID, "/") { // some BMCs redirect a path without a slash at its end
		at += "/"
	}
	if c.config.System == "" {
		if at, err = c.findSystem(ctx, root.Systems.ID); err != nil {
			return s, err
		}
	}
	head, err := c.send(ctx, request{path: at, into: &s})
	if err != nil {
		return s, err
	}
	s.ID, s.etag = at, head.Get("ETag")
	if !slices.Contains(powerStates, s.PowerState) {
		return s, &Error{Kind: NoRedfish, Cause: "its answer has no PowerState of Redfish"}
	}
	if !slices.Contains(restorePolicies, s.RestorePolicy) {
		s.RestorePolicy = ""
	}
	if !slices.Contains(indicatorWords, s.Indicator) {
		s.Indicator = ""
	}
	return s, nil
}

func (c *Client) findSystem(ctx context.Context, collection string) (string, error) {
	var list struct{ Members []link }
	if _, err := c.send(ctx, request{path: collection, into: &list}); err != nil {
		return "", err
	}
	if len(list.Members) == 1 {
		return list.Members[0].ID, nil
	}
	var names []string
	for _, m := range list.Members[:min(len(list.Members), 8)] {
		names = append(names, path.Base(m.ID))
	}
	return "", &Error{Kind: NoSystem, Cause: "it has not exactly one system, but: " + cmp.Or(strings.Join(names, ", "), "none"), Next: "set system in the bmc block"}
}

// resetTypes returns the resets that the BMC lists, in the system itself or in the description of the action. It ignores those that
// are none of Redfish.
func (c *Client) resetTypes(ctx context.Context, s system) ([]string, error) {
	list := s.Actions.Reset.Types
	if len(list) == 0 && s.Actions.Reset.Info != "" {
		var err error
		if list, err = c.describedResets(ctx, s.Actions.Reset.Info); err != nil {
			return nil, err
		}
	}
	var known []string
	for _, r := range resetTypes {
		if slices.Contains(list, r) {
			known = append(known, r)
		}
	}
	return known, nil
}

func (c *Client) describedResets(ctx context.Context, action string) ([]string, error) {
	var info struct {
		Parameters []struct {
			Name            string
			AllowableValues []string
		}
	}
	if _, err := c.send(ctx, request{path: action, into: &info}); err != nil {
		return nil, err
	}
	for _, p := range info.Parameters {
		if p.Name == "ResetType" {
			return p.AllowableValues, nil
		}
	}
	return nil, nil
}

// State returns the power and the resets that the BMC offers.
func (c *Client) State(ctx context.Context) (now power.State, err error) {
	err = c.withSystem(ctx, func(ctx context.Context, s system) (err error) {
		now = power.State{Power: s.PowerState, RestorePolicy: s.RestorePolicy, Light: s.Light}
		if s.Light == nil {
			now.Indicator = s.Indicator
		}
		now.Resets, err = c.resetTypes(ctx, s)
		return err
	})
	return now, err
}

// Reset sends a reset. It sets MaybeDone in its error if the reset was sent, and the BMC did not refuse it.
func (c *Client) Reset(ctx context.Context, r power.Reset) error {
	var sent atomic.Bool
	refused := false
	err := c.withSystem(ctx, func(ctx context.Context, s system) error {
		offered, err := c.resetTypes(ctx, s)
		if err != nil {
			return err
		}
		if !slices.Contains(offered, string(r)) || s.Actions.Reset.Target == "" {
			return &Error{Kind: Refused, Cause: "it does not offer the reset " + string(r), Next: "switch the power by hand"}
		}
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
		_, err = c.send(ctx, request{method: http.MethodPost, path: s.Actions.Reset.Target, body: map[string]power.Reset{"ResetType": r}})
		refused = statusOf(err) >= 300 && statusOf(err) < 500
		return err
	})
	if e := (*Error)(nil); errors.As(err, &e) {
		e.MaybeDone = sent.Load() && !refused
	}
	return err
}

// SetRestorePolicy decides about the power after a power cut.
func (c *Client) SetRestorePolicy(ctx context.Context, policy string) error {
	return c.withSystem(ctx, func(ctx context.Context, s system) error {
		switch s.RestorePolicy {
		case "":
			return &Error{Kind: Refused, Cause: "it does not offer PowerRestorePolicy", Next: "set the power after a power cut in the firmware of the host"}
		case policy:
			return nil
		}
		return c.change(ctx, s, map[string]any{"PowerRestorePolicy": policy})
	})
}

// SetLight switches the locator light.
func (c *Client) SetLight(ctx context.Context, on bool) error {
	return c.withSystem(ctx, func(ctx context.Context, s system) error {
		switch {
		case s.Light == nil:
			return &Error{Kind: Refused, Cause: "it does not offer a locator light", Next: "find the host by its label"}
		case *s.Light == on:
			return nil
		}
		return c.change(ctx, s, map[string]any{"LocationIndicatorActive": on})
	})
}

// SetIndicator sets IndicatorLED. Where a BMC refuses Blinking, as some do, its light is Lit.
func (c *Client) SetIndicator(ctx context.Context, word string) error {
	return c.withSystem(ctx, func(ctx context.Context, s system) error {
		switch {
		case s.Light != nil || s.Indicator == "":
			return &Error{Kind: Refused, Cause: "it does not offer IndicatorLED", Next: "find the host by its label"}
		case s.Indicator == word:
			return nil
		}
		err := c.change(ctx, s, map[string]any{"IndicatorLED": word})
		if word == indicatorBlinking && statusOf(err) == http.StatusBadRequest && s.Indicator != indicatorLit {
			err = c.change(ctx, s, map[string]any{"IndicatorLED": indicatorLit})
		}
		return err
	})
}

// change sets fields of the system. Some BMCs refuse the ETag that they have sent (HTTP status 412): they take a weak one
// only as a strong one, or none. Without an ETag, a change by somebody else in between is lost. This is no harm, because all
// values are absolute: none of them depends on a value that was read.
func (c *Client) change(ctx context.Context, s system, fields map[string]any) (err error) {
	for _, etag := range slices.Compact([]string{s.etag, strings.TrimPrefix(s.etag, "W/"), ""}) {
		_, err = c.send(ctx, request{method: http.MethodPatch, path: s.ID, etag: etag, body: fields})
		if statusOf(err) != http.StatusPreconditionFailed {
			return err
		}
	}
	return err
}
