package change

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd/carotation"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/pki"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/hostscript"
	"holdfast/engine/textutil"
)

// Issuer signs the certificates of the members.
type Issuer interface {
	Certificate() *x509.Certificate // of the CA
	Also() []*x509.Certificate      // other CAs that members must trust
	Sign(ctx context.Context, request *x509.CertificateRequest, text []byte, p pki.Profile) ([]byte, error)
}

// Certificates issues the certificates of a cluster.
type Certificates struct {
	Issuer    Issuer
	Reconnect func() // makes the next connection read the credentials of holdfast again

	ClientsDone []string // fingerprints of CAs from which no client has its certificate any more

	known pki.KnownCAs
	state membership.State // the last observed state
}

func (r *Run) certificatePlace() pki.Place { return placeOf(*r.Cluster.Managed) }

func (r *Run) certificateSubject(h engine.Host) pki.Subject {
	return pki.Subject{Host: h, ServerNames: r.Cluster.Managed.CA.ServerNames}
}

func placeOf(m engine.ManagedMembers) pki.Place {
	return pki.Place{Folder: m.CA.Folder, Unit: m.Unit, Settings: settingsPath}
}

func (o observer) observeCertificates(ctx context.Context, hosts []probedHost) {
	facts := make([]pki.Facts, len(hosts))
	forEachHost(hosts, func(i int) {
		if h := &hosts[i].host; h.Unreachable == "" {
			facts[i], h.Unreachable = o.probeCertificates(ctx, o.Members[i])
		}
	})
	ca := o.Certificates.Issuer.Certificate()
	known := pki.KnownCAs{Goal: pki.ID(ca), ByID: map[carotation.CA]*x509.Certificate{pki.ID(ca): ca}}
	for _, other := range o.Certificates.Issuer.Also() {
		known.ByID[pki.ID(other)] = other
	}
	for _, f := range facts {
		maps.Copy(known.ByID, f.CAs())
	}
	for i, f := range facts {
		h := &hosts[i].host
		if h.Unreachable != "" {
			continue
		}
		subject := o.certificateSubject(o.Members[i])
		j := f.Judge(subject, known, time.Now())
		h.Certificates = membership.Certificates{
			Problem: j.Problem, Due: j.Due, Foreign: h.HasData && !f.Uses, Disputed: hosts[i].clock.describeDispute(func(now time.Time) string { return f.Judge(subject, known, now).Problem }),
			File: f.File(), Loaded: f.Loaded(), Issuers: j.Issuers,
		}
	}
	o.Certificates.known = known
}

// addTo adds the CAs of the inventory to a state, and keeps the state for the next step.
func (c *Certificates) addTo(s *membership.State) {
	s.CA, s.CANames = c.known.Goal, map[carotation.CA]string{}
	for id, ca := range c.known.ByID {
		s.CANames[id] = ca.Subject.String()
	}
	for _, ca := range c.Issuer.Also() {
		s.AlsoTrusted = append(s.AlsoTrusted, pki.ID(ca))
	}
	s.KeepsOldCAs = true
	for _, ca := range c.ClientsDone {
		s.ClientsDone = append(s.ClientsDone, carotation.CA(ca))
	}
	c.state = *s
}

// judgeFounder returns a function that returns why a host needs new certificates before it starts a new cluster, or "". The
// next step that issues certificates then does so for a new cluster.
func (o observer) judgeFounder(hosts []probedHost) func(membership.Host) string {
	if o.Certificates == nil {
		return func(membership.Host) string { return "" }
	}
	s := membership.State{Cluster: o.Cluster.Name}
	for _, p := range hosts {
		s.Hosts = append(s.Hosts, p.host)
	}
	o.Certificates.addTo(&s)
	s = s.KeepOldCAs()
	o.Certificates.state = s
	return func(h membership.Host) string {
		if h.Unreachable != "" {
			return ""
		}
		return s.WhyUncertified(h)
	}
}

func (o observer) probeCertificates(ctx context.Context, h engine.Host) (f pki.Facts, unreachable string) {
	ctx, cancel := context.WithTimeout(ctx, scriptTime)
	defer cancel()
	reply, err := o.Hosts.Run(ctx, h, Script{ReadCertificates, o.certificatePlace().ProbeScript()})
	switch {
	case err != nil:
		return f, err.Error()
	case reply.Code != 0:
		return f, "its certificates cannot be read: " + textutil.Printable(textutil.FirstLine(reply.Stderr))
	}
	return pki.ReadFacts(reply.Stdout), ""
}

// issueCertificates lets a host make keys, and puts certificates for them in place.
func (a actions) issueCertificates(ctx context.Context, step membership.MemberStep) (string, error) {
	host, _ := a.findHost(step.Host)
	subject := a.certificateSubject(host)
	script, err := a.certificatePlace().RequestScript(subject)
	if err != nil {
		return "", err
	}
	output, err := a.hostOutput(ctx, step.Host, a.scriptUnderHold("make keys of etcd", Script{MakeKeys, script}))
	if err != nil {
		return "", err
	}
	requests, err := pki.ReadRequests(output)
	if err != nil {
		return "", err
	}
	known := a.Certificates.known
	bundle, err := known.Bundle(a.Certificates.state.CAsAfter(step))
	if err != nil {
		return "", err
	}
	cas := known.List([]carotation.CA{known.Goal})
	issued := map[etcdfacts.CertificateRole][]byte{}
	for _, role := range pki.Roles {
		p := pki.NewProfile(subject, role)
		request, err := pki.ParseRequest(requests[role], p)
		if err != nil {
			return "", err
		}
		text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request.Raw}) // and nothing else that the host has printed
		if issued[role], err = a.Certificates.Issuer.Sign(ctx, request, text, p); err != nil {
			return "", err
		}
		check := func(now time.Time) error {
			return pki.CheckIssued(issued[role], request, p, pki.Trust{CAs: cas, Now: now})
		}
		if err := errors.Join(check(time.Now()), a.checkByClocks(check)); err != nil {
			return "", err
		}
	}
	place := a.certificatePlace()
	place.User = a.userOf(host)
	if err := a.runScript(ctx, step.Host, a.scriptUnderHold("put certificates of etcd in place", Script{PlaceCertificates, place.PlaceScript(issued, bundle)})); err != nil {
		return "", err
	}
	a.Certificates.Reconnect()
	first := pki.FirstEnd(issued)
	return fmt.Sprintf("until %s", first.UTC().Format(time.DateOnly)), nil
}

// checkByClocks repeats a check at the time of each host whose clock differs by more than pki.StartEarly, and returns the
// first error. A member reads its certificates, and judges those of the others, at each connection.
func (a actions) checkByClocks(check func(now time.Time) error) error {
	for _, h := range a.Members {
		clock, known := a.clocks[h.Name]
		if !known || !clock.isFarOff() {
			continue
		}
		if err := check(time.Now().Add(clock.ahead)); err != nil {
			return fmt.Errorf("%w (%s)", err, clock.describeTimes("host "+h.Name))
		}
	}
	return nil
}

// describeDispute returns the times of both clocks if only one of them finds a problem with the certificates of the host, or
// "".
func (c clockReading) describeDispute(findProblem func(now time.Time) string) string {
	here := findProblem(time.Now())
	if !c.isFarOff() || (here == "") == (findProblem(time.Now().Add(c.ahead)) == "") {
		return ""
	}
	return c.describeTimes("the host")
}

// isFarOff reports whether a clock differs so much from the bastion's that new certificates may not be valid for it.
func (c clockReading) isFarOff() bool {
	return c.known && c.leastSkew(clockReading{}) > pki.StartEarly
}

// describeTimes returns the times of the clocks of a host and of the bastion.
func (c clockReading) describeTimes(host string) string {
	now := time.Now()
	return fmt.Sprintf("the clock of %s shows %s, and the bastion's shows %s: correct the wrong one", host, formatMinute(now.Add(c.ahead)), formatMinute(now))
}

func formatMinute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

// trustCAs restarts etcd on the host. The next step waits until all members are healthy again.
func (a actions) trustCAs(ctx context.Context, step membership.MemberStep) error {
	bundle, err := a.Certificates.known.Bundle(a.Certificates.state.CAsAfter(step))
	if err != nil {
		return err
	}
	err = a.runScript(ctx, step.Host, a.scriptUnderHold("restart etcd", Script{TrustCAs, a.certificatePlace().TrustScript(bundle)}))
	a.Certificates.Reconnect()
	return err
}

// maxRepeats limits how often a run does the same step with certificates. A step is repeated only if somebody else changes
// the same hosts.
const maxRepeats = 2

// countStep counts a step with certificates. It returns an error if the run has done this step maxRepeats times.
func (r *Run) countStep(step membership.MemberStep) error {
	if step.Action != membership.Issue && !step.Action.RestartsEtcd() {
		return nil
	}
	if r.repeats[step]++; r.repeats[step] <= maxRepeats {
		return nil
	}
	return &engine.Failure{
		Host: step.Host, Step: step.Action.String(),
		Cause: fmt.Sprintf("it was done %d times, and is to be done again (%s): find out why its files do not stay as they were put in place",
			maxRepeats, step.Reason),
	}
}

func (a actions) scriptUnderHold(operation string, s Script) Script {
	s.Text = "set -eu\nexport LC_ALL=C\n" + hostscript.CheckHoldSnippet(a.Owner).String() + "claim_host " + hostscript.Quote(operation) + "\n" + s.Text
	return s
}

func certificateSettings(ca *engine.EtcdCA) string {
	if ca == nil {
		return ""
	}
	var text string
	for _, role := range []struct{ prefix, name string }{{"ETCD_", "server"}, {"ETCD_PEER_", "peer"}} {
		text += role.prefix + "CLIENT_CERT_AUTH=true\n" + role.prefix + "TRUSTED_CA_FILE=" + ca.Folder + "/ca.crt\n" +
			role.prefix + "CERT_FILE=" + ca.Folder + "/" + role.name + ".crt\n" + role.prefix + "KEY_FILE=" + ca.Folder + "/" + role.name + ".key\n"
	}
	return text
}
