package lab

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/cmd/holdfast-lab/internal/host"
	"holdfast/cmd/holdfast-lab/internal/pki"
	"holdfast/cmd/holdfast-lab/internal/site"
	"holdfast/cmd/holdfast-lab/internal/spec"
	"holdfast/engine/redfish/redfishtest"
)

const (
	// bmcAddress is the address of the Redfish service, which is the management controller of all hosts.
	bmcAddress = spec.Gateway + ":8443"
	bmcUser    = "holdfast"
	// bmcName is the file that the Redfish service has locked.
	bmcName = "bmc.lock"
	// bmcFolder has the certificates and the password of the service.
	bmcFolder = "bmc"
)

var bmcService = service{name: "Redfish", claim: bmcName, log: "bmc.log", address: bmcAddress, command: []string{"bmc"}}

// SetBMC starts or stops the Redfish service of the hosts, and writes the site with or without it.
func (l *Lab) SetBMC(ctx context.Context, on bool) error {
	if l.state.Options.BMC != on {
		l.state.Options.BMC = on
		if err := l.saveState(); err != nil {
			return err
		}
	}
	if !on {
		return errors.Join(l.stopService(ctx, bmcService), l.writeSite())
	}
	if err := l.makeBMCFiles(); err != nil {
		return err
	}
	return errors.Join(l.startService(ctx, bmcService), l.writeSite())
}

func (l *Lab) makeBMCFiles() error {
	if _, err := os.Stat(l.path(bmcFolder, "password")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	ca, err := pki.NewAuthority("BMCs of the lab")
	if err != nil {
		return err
	}
	server, err := ca.Issue(spec.Gateway)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(l.path(bmcFolder), 0o700); err != nil {
		return fmt.Errorf("write files of BMCs: %w", err)
	}
	secret := make([]byte, 12)
	_, _ = rand.Read(secret) // never fails, see the documentation of crypto/rand
	for _, f := range []struct {
		name    string
		content []byte
	}{{"ca.crt", ca.Cert}, {"server.crt", server.Cert}, {"server.key", server.Key}, {"password", []byte(hex.EncodeToString(secret) + "\n")}} {
		if err := os.WriteFile(l.path(bmcFolder, f.name), f.content, 0o600); err != nil {
			return fmt.Errorf("write files of BMCs: %w", err)
		}
	}
	return nil
}

// siteBMC returns nil if the lab serves no Redfish.
func (l *Lab) siteBMC() *site.BMC {
	if !l.state.Options.BMC {
		return nil
	}
	return &site.BMC{Address: bmcAddress, User: bmcUser}
}

// readBMCSite returns the files that the bmc blocks of the inventory name.
func (l *Lab) readBMCSite() ([]siteFile, error) {
	if !l.state.Options.BMC {
		return nil, nil
	}
	ca, err1 := os.ReadFile(l.path(bmcFolder, "ca.crt"))
	password, err2 := os.ReadFile(l.path(bmcFolder, "password"))
	return []siteFile{{site.BMCAuthority, ca, 0o644}, {site.BMCPassword, password, 0o600}}, errors.Join(err1, err2)
}

// ServeBMCHere serves Redfish for the hosts in the calling process until ctx ends. The process must be inside the lab's network.
func (l *Lab) ServeBMCHere(ctx context.Context) error {
	claim, err := l.claimService(bmcService, "")
	if err != nil {
		return err
	}
	return errors.Join(l.serveBMC(ctx), claim.Close())
}

func (l *Lab) serveBMC(ctx context.Context) error {
	password, err := os.ReadFile(l.path(bmcFolder, "password"))
	if err != nil {
		return fmt.Errorf("serve Redfish: %w", err)
	}
	pair, err := tls.LoadX509KeyPair(l.path(bmcFolder, "server.crt"), l.path(bmcFolder, "server.key"))
	if err != nil {
		return fmt.Errorf("serve Redfish: %w", err)
	}
	machines := map[string]redfishtest.Machine{}
	for _, h := range l.Hosts() {
		machines[h.Name] = &machine{ctx: ctx, host: h}
	}
	listener, err := net.Listen("tcp", bmcAddress)
	if err != nil {
		return fmt.Errorf("serve Redfish: %w", err)
	}
	server := &http.Server{
		Handler:           logRequests(&redfishtest.Service{User: bmcUser, Password: strings.TrimSpace(string(password)), Machines: machines}),
		ReadHeaderTimeout: 10 * time.Second,
	}
	var wg conc.WaitGroup
	stop := context.AfterFunc(ctx, func() { wg.Go(func() { _ = server.Close() }) })
	defer wg.Wait()
	defer stop()
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if err := server.Serve(tls.NewListener(listener, config)); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve Redfish: %w", err)
	}
	return nil
}

// logRequests prints each request that changes something.
func logRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			log.Printf("%s %q by %q", r.Method, r.URL.Path, r.UserAgent())
		}
		next.ServeHTTP(w, r)
	})
}

// machine is a host of the lab as a system of the Redfish service.
type machine struct {
	ctx  context.Context // of the service
	host *Host
	mu   sync.Mutex // one switch at a time
}

// Power returns "" if the mains of the host are cut.
func (m *machine) Power() string {
	c, err := m.host.Controller()
	if err != nil || c.NoMains {
		return ""
	}
	switch state, err := m.host.State(m.ctx); {
	case err != nil:
		return ""
	case state == host.StateOff:
		return "Off"
	}
	return "On"
}

// Reset operates the power switch.
func (m *machine) Reset(kind string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	isOn := m.Power() == "On"
	switch {
	case kind == "On", kind == "PushPowerButton" && !isOn:
		return m.host.Power(m.ctx, On)
	case !isOn && kind != "ForceOff":
		return errors.New("the system is off")
	case kind == "ForceOff":
		return m.host.Power(m.ctx, Off)
	case kind == "GracefulShutdown", kind == "PushPowerButton":
		return m.host.Power(m.ctx, Soft)
	case kind == "ForceRestart", kind == "PowerCycle":
		return m.host.Power(m.ctx, Reset)
	}
	return fmt.Errorf("the lab cannot do %s", kind)
}

// Settings returns the settings that the host's folder has.
func (m *machine) Settings() (redfishtest.Settings, error) {
	c, err := m.host.Controller()
	return redfishtest.Settings{RestorePolicy: c.RestorePolicy, Light: c.Light, Revision: c.Revision}, err
}

// ChangeSettings changes the settings in the host's folder.
func (m *machine) ChangeSettings(change func(*redfishtest.Settings) bool) error {
	return m.host.folder.ChangeController(func(c *host.Controller) bool {
		s := redfishtest.Settings{RestorePolicy: c.RestorePolicy, Light: c.Light, Revision: c.Revision}
		keep := change(&s)
		c.RestorePolicy, c.Light, c.Revision = s.RestorePolicy, s.Light, s.Revision
		return keep
	})
}
