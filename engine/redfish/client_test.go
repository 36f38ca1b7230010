package redfish

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/clock"
	"holdfast/engine/power"
	"holdfast/engine/redfish/redfishtest"
)

// machine is a host in memory.
type machine struct {
	mu     sync.Mutex
	power  string
	resets []string
	stuck  bool // no reset has an effect
	deaf   bool // only a graceful shutdown has none
}

func (m *machine) Power() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.power
}

func (m *machine) Reset(kind string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.resets = append(m.resets, kind)
	switch {
	case m.stuck, m.deaf && kind == "GracefulShutdown":
	case kind == "On":
		m.power = "On"
	case strings.HasSuffix(kind, "Off"), kind == "GracefulShutdown":
		m.power = "Off"
	}
	return nil
}

const password = "geheim-0815"

// startBMC serves handler over TLS, and returns a client for it.
func startBMC(t *testing.T, handler http.Handler, change ...func(*Config)) *Client {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	config := Config{Address: strings.TrimPrefix(server.URL, "https://"), Roots: roots, User: "admin", Password: []byte(password)}
	for _, c := range change {
		c(&config)
	}
	client := New(config)
	client.timeout = 2 * time.Second
	return client
}

func serviceOf(machines map[string]redfishtest.Machine) *redfishtest.Service {
	return &redfishtest.Service{User: "admin", Password: password, Machines: machines}
}

// TestSwitch switches a host through the BMC: no reset is sent that has no effect, and a host that does not shut down is switched off
// after the time for that.
func TestSwitch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before  string
		deaf    bool
		offers  []string
		to      engine.PowerTarget
		resets  []string
		after   string
		refused string
	}{
		"off":                          {"On", false, nil, engine.PowerOff, []string{"GracefulShutdown"}, "Off", ""},
		"off, although it does not":    {"On", true, nil, engine.PowerOff, []string{"GracefulShutdown", "ForceOff"}, "Off", ""},
		"off, without a graceful way":  {"On", false, []string{"On", "ForceOff"}, engine.PowerOff, []string{"ForceOff"}, "Off", ""},
		"off, with no way":             {"On", false, []string{"On", "PushPowerButton"}, engine.PowerOff, nil, "On", "does not offer GracefulShutdown or ForceOff, only On, PushPowerButton"},
		"off, and it is off":           {"Off", false, nil, engine.PowerOff, nil, "Off", ""},
		"on":                           {"Off", false, nil, engine.PowerOn, []string{"On"}, "On", ""},
		"on, and it is on":             {"On", false, nil, engine.PowerOn, nil, "On", ""},
		"on, with no way":              {"Off", false, []string{"PushPowerButton"}, engine.PowerOn, nil, "Off", "does not offer On or ForceOn"},
		"reset":                        {"On", false, nil, engine.PowerReset, []string{"ForceRestart"}, "On", ""},
		"reset, only by a power cycle": {"On", false, []string{"PowerCycle"}, engine.PowerReset, nil, "On", "does not offer ForceRestart, only PowerCycle"},
		"reset of a host that is off":  {"Off", false, nil, engine.PowerReset, nil, "Off", "only a host that is on is reset"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &machine{power: c.before, deaf: c.deaf}
			service := serviceOf(map[string]redfishtest.Machine{"1": m})
			service.Resets = c.offers
			err := power.Switcher{Clock: clock.Real{}, Before: func(string) error { return nil }}.Switch(t.Context(), startBMC(t, service), engine.SwitchPower{To: c.to, Graceful: engine.Duration(time.Second)})
			if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%v, not %q", err, c.refused)
			}
			if !slices.Equal(m.resets, c.resets) || m.Power() != c.after {
				t.Errorf("resets %q, then %s", m.resets, m.Power())
			}
		})
	}
}

// TestSettings: the power after a power cut, and the locator light, are changed and read back.
func TestSettings(t *testing.T) {
	t.Parallel()
	service := serviceOf(map[string]redfishtest.Machine{"a": &machine{power: "On"}, "b": &machine{power: "Off"}})
	c := startBMC(t, service, func(c *Config) { c.System = "b" })
	if err := errors.Join(c.SetRestorePolicy(t.Context(), "AlwaysOff"), c.SetLight(t.Context(), true), c.SetLight(t.Context(), true)); err != nil {
		t.Fatal(err)
	}
	s, err := c.State(t.Context())
	if err != nil || s.Power != "Off" || s.RestorePolicy != "AlwaysOff" || s.Light == nil || !*s.Light || !slices.Contains(s.Resets, string(power.ForceOff)) {
		t.Errorf("%v, %+v", err, s)
	}
	if policy, light := service.Settings("a"); policy != "LastState" || light {
		t.Errorf("another system was changed: %s, %v", policy, light)
	}
}

// TestPins: a certificate with the expected fingerprint needs no CA.
func TestPins(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(serviceOf(map[string]redfishtest.Machine{"1": &machine{power: "On"}}))
	t.Cleanup(server.Close)
	sum := sha256.Sum256(server.Certificate().Raw)
	for _, pin := range []string{hex.EncodeToString(sum[:]), strings.ToUpper(hex.EncodeToString(sum[:]))} {
		c := New(Config{Address: strings.TrimPrefix(server.URL, "https://"), Fingerprint: pin, User: "admin", Password: []byte(password)})
		if s, err := c.State(t.Context()); err != nil || s.Power != "On" {
			t.Errorf("%v, %+v", err, s)
		}
	}
}

// TestBadAnswers: each bad answer has a kind, names the BMC and the next step, does not contain the password, changes nothing, and ends in
// time.
func TestBadAnswers(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	type handler = http.HandlerFunc
	raw := func(text string) handler {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, text) }
	}
	rootThen := func(next handler) handler {
		m := serviceOf(map[string]redfishtest.Machine{"1": &machine{power: "On"}})
		return func(w http.ResponseWriter, r *http.Request) {
			if strings.TrimSuffix(r.URL.Path, "/") == "/redfish/v1" {
				m.ServeHTTP(w, r)
				return
			}
			next(w, r)
		}
	}
	endless := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := fmt.Fprint(w, strings.Repeat(" ", 1<<16)); err != nil {
				return
			}
		}
	}
	bomb := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(w)
		_, _ = packed.Write(bytes.Repeat([]byte(" "), 16*maxBody))
		_ = packed.Close()
	}
	hangs := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	drips := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = fmt.Fprint(w, " ")
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	good := func(w http.ResponseWriter, r *http.Request) {
		serviceOf(map[string]redfishtest.Machine{"1": &machine{power: "On"}, "2": &machine{power: "On"}}).ServeHTTP(w, r)
	}
	for name, c := range map[string]struct {
		serve  handler
		change func(*Config)
		kind   Kind
		says   string
	}{
		"nothing listens":              {good, func(c *Config) { c.Address = closed.Addr().String() }, Unreachable, "refused"},
		"wrong password":               {good, func(c *Config) { c.Password, c.System = []byte("wrong"), "1" }, Login, "401"},
		"wrong password, no system":    {good, func(c *Config) { c.Password = []byte("wrong") }, Login, "401"},
		"wrong CA":                     {good, func(c *Config) { c.Roots = x509.NewCertPool() }, Certificate, "unknown authority"},
		"wrong fingerprint":            {good, func(c *Config) { c.Fingerprint = strings.Repeat("ab", 32) }, Certificate, "its certificate has the SHA-256 fingerprint"},
		"wrong name":                   {good, func(c *Config) { c.Address = strings.Replace(c.Address, "127.0.0.1", "localhost", 1) }, Certificate, "localhost"},
		"wrong system":                 {good, func(c *Config) { c.System = "9" }, NoSystem, `no system "9"`},
		"several systems":              {good, nil, NoSystem, "not exactly one system, but: 1, 2"},
		"no Redfish":                   {raw("<html>login</html>"), nil, NoRedfish, "cannot be read as Redfish"},
		"an empty answer":              {raw(""), nil, NoRedfish, ""},
		"nothing there":                {http.NotFound, nil, NoRedfish, "404"},
		"nothing there, with a system": {http.NotFound, func(c *Config) { c.System = "1" }, NoRedfish, "404"},
		"JSON of something else":       {raw(`{"hello": 1}`), func(c *Config) { c.System = "1" }, NoRedfish, ""},
		"a list":                       {raw(`[1, 2]`), nil, NoRedfish, ""},
		"a large answer":               {raw(`{"x": "` + strings.Repeat("x", maxBody) + `"}`), nil, TooLarge, "more than 1 MiB"},
		"a large error":                {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); endless(w, &http.Request{}) }, nil, TooLarge, ""},
		"an endless answer":            {endless, nil, TooLarge, ""},
		"a bomb":                       {bomb, nil, TooLarge, ""},
		"deep":                         {raw(strings.Repeat("[", maxBody/2)), nil, NoRedfish, "cannot be read as Redfish"},
		"a system at a file":           {raw(`{"Systems": {"@odata.id": "file:///etc/shadow"}}`), nil, Redirect, "another server"},
		"a system at another server":   {raw(`{"Systems": {"@odata.id": "https://192.0.2.1/redfish/v1/Systems"}}`), nil, Redirect, "another server"},
		"a system without a scheme":    {raw(`{"Systems": {"@odata.id": "//192.0.2.1/redfish/v1/Systems"}}`), func(c *Config) { c.System = "1" }, NoRedfish, ""},
		"an endless system":            {rootThen(endless), func(c *Config) { c.System = "1" }, TooLarge, ""},
		"hangs":                        {hangs, nil, Unreachable, "did not answer within 2s"},
		"hangs later":                  {rootThen(hangs), func(c *Config) { c.System = "1" }, Unreachable, "did not answer within 2s"},
		"drips":                        {drips, nil, Unreachable, "did not answer within 2s"},
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://192.0.2.1/", http.StatusFound)
		}, nil, Redirect, "302"},
		"redirects later":         {rootThen(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/x", http.StatusPermanentRedirect) }), func(c *Config) { c.System = "1" }, Redirect, "308"},
		"leads to another server": {raw(`{"@odata.id": "/redfish/v1", "Id": "x", "Systems": {"@odata.id": "@192.0.2.1/redfish/v1/Systems"}}`), nil, Redirect, "another server"},
		"is overloaded":           {rootThen(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }), func(c *Config) { c.System = "1" }, Refused, "503"},
		"repeats the password": {rootThen(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(500)
			_, _ = fmt.Fprint(w, password, r.Header)
		}), func(c *Config) { c.System = "1" }, Refused, "500"},
		"repeats the password where the error is cut": {rootThen(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			_, _ = fmt.Fprint(w, strings.Repeat(" ", 295), password)
		}), func(c *Config) { c.System = "1" }, Refused, "500"},
		"a sentence as the power state":   {rootThen(raw(`{"PowerState": "` + strings.Repeat("On and ", 1000) + `"}`)), func(c *Config) { c.System = "1" }, NoRedfish, "PowerState"},
		"the password as the power state": {rootThen(raw(`{"PowerState": "` + password + `"}`)), func(c *Config) { c.System = "1" }, NoRedfish, "PowerState"},
		"no power state":                  {rootThen(raw(`{"@odata.id": "/redfish/v1/Systems/1", "Id": "1"}`)), func(c *Config) { c.System = "1" }, NoRedfish, "no PowerState"},
		"an error with hostile letters": {rootThen(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			_, _ = fmt.Fprint(w, "\x1b[2J\r\n"+strings.Repeat("y", 5000))
		}), func(c *Config) { c.System = "1" }, Refused, "500"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := startBMC(t, c.serve, func(config *Config) {
				if c.change != nil {
					c.change(config)
				}
			})
			began := time.Now()
			_, err := client.State(t.Context())
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("%v", err)
			}
			text := err.Error()
			if e.Kind != c.kind || !strings.Contains(text, c.says) || e.Next == "" || !strings.Contains(text, client.config.Address) {
				t.Errorf("kind %q, not %q: %s", e.Kind, c.kind, text)
			}
			if strings.Contains(text, password[:4]) || strings.ContainsAny(text, "\x1b\r\n") || len(text) > 700 {
				t.Errorf("%q", text)
			}
			if took := time.Since(began); took > 20*time.Second { // the machine may be busy
				t.Errorf("took %s", took)
			}
		})
	}
}

// TestHostileState: of the words of a BMC, only those that may be words of Redfish are shown, and not many.
func TestHostileState(t *testing.T) {
	t.Parallel()
	const secret = "Geheimwort"
	types := `"On", "` + secret + `", "` + strings.Repeat("x", 500) + `", "a b", "\u001b[2J"` + strings.Repeat(`, "ForceOff"`, 1000)
	c := startBMC(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/redfish/v1/" {
			_, _ = fmt.Fprint(w, `{"Systems": {"@odata.id": "/redfish/v1/Systems"}}`)
			return
		}
		_, _ = fmt.Fprint(w, `{"PowerState": "On", "PowerRestorePolicy": "`+secret+`", "Actions": {"#ComputerSystem.Reset": {"ResetType@Redfish.AllowableValues": [`+types+`]}}}`)
	}), func(c *Config) { c.System, c.Password = "1", []byte(secret) })
	s, err := c.State(t.Context())
	if err != nil || s.RestorePolicy != "" || !slices.Equal(s.Resets, []string{"On", "ForceOff"}) {
		t.Errorf("%v: %.300v", err, s)
	}
}

// TestEndOfTheStep: the end of a step is no fault of the answer.
func TestEndOfTheStep(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	c := startBMC(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-asked
		cancel(errors.New("not done within 28s"))
	}()
	_, err := c.State(ctx)
	var e *Error
	if !errors.As(err, &e) || e.Kind != Unreachable || !strings.Contains(err.Error(), "not done within 28s") {
		t.Errorf("%v", err)
	}
}

// TestStuckPower: a reset that is accepted and has no effect ends in time, with the state that the BMC reports.
func TestStuckPower(t *testing.T) {
	t.Parallel()
	m := &machine{power: "Off", stuck: true}
	c := startBMC(t, serviceOf(map[string]redfishtest.Machine{"1": m}))
	at := &fastClock{now: time.Now()}
	began := at.now
	err := power.Switcher{Clock: at, Before: func(string) error { return nil }}.Switch(t.Context(), c, engine.SwitchPower{To: engine.PowerOn})
	if err == nil || !strings.Contains(err.Error(), `accepted On, and still reports "Off"`) || at.now.Sub(began) > time.Duration(engine.SwitchTimeout) || !slices.Equal(m.resets, []string{"On"}) {
		t.Errorf("%v, after %s, resets %q", err, at.now.Sub(began), m.resets)
	}
}

type fastClock struct{ now time.Time }

func (c *fastClock) Now() time.Time { return c.now }

func (c *fastClock) Sleep(_ context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	return nil
}

// TestConnectionIsClosed: BMCs have room for few connections, so none stays open after a call.
func TestConnectionIsClosed(t *testing.T) {
	server := httptest.NewUnstartedServer(&redfishtest.Service{User: "admin", Password: password, Machines: map[string]redfishtest.Machine{"1": &machine{power: "On"}}})
	closed := make(chan struct{}, 1)
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			closed <- struct{}{}
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	c := New(Config{Address: strings.TrimPrefix(server.URL, "https://"), Roots: roots, User: "admin", Password: []byte(password)})
	if _, err := c.State(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-closed:
	case <-time.After(30 * time.Second): // less than the time after which an idle connection is closed anyway
		t.Error("the connection is open after the call")
	}
}
