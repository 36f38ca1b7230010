package membership

import (
	"errors"
	"fmt"
	"slices"

	"holdfast/engine/etcd/carotation"
)

// Certificates is the state of the certificates that holdfast issues on a host. It has a meaning only in a State with a CA.
type Certificates struct {
	Problem string // why etcd cannot use them: there are none, or they have expired; "": it can
	Due     string // why they must be issued again although etcd can use them; "": they need not be
	Foreign bool   // etcd on the host uses certificates that holdfast has not issued

	Disputed string // the clocks of the host and of the bastion, if only one of them finds the certificates valid

	File    []carotation.CA // in the file of trusted CAs
	Loaded  []carotation.CA // that etcd read when it started; those of the file if it does not run
	Issuers []carotation.CA // of the certificates
}

func (h Host) trust() carotation.HostTrust {
	c := h.Certificates
	return carotation.HostTrust{Host: h.Name, File: c.File, Loaded: c.Loaded, Issuers: c.Issuers}
}

func (s State) issuesCertificates() bool { return s.CA != "" }

func (s State) wantedTrust() carotation.Wanted {
	return carotation.Wanted{Issuer: s.CA, Also: slices.Concat(s.AlsoTrusted, s.keptCAs())}
}

// hasMember reports whether the host has a member, or data of one while the members are not known.
func (s State) hasMember(h Host) bool {
	if s.Problem != "" || len(s.Members) == 0 {
		return h.HasData
	}
	_, listed := s.findMember(h.Name)
	return listed
}

// trustOfOthers returns the state of certificates that members use, in the order of the inventory, but the leader last. It
// omits one host, hosts that do not answer, and hosts whose certificates etcd cannot use.
func (s State) trustOfOthers(except string) []carotation.HostTrust {
	var list, last []carotation.HostTrust
	for _, h := range s.Hosts {
		if h.Name == except || h.Unreachable != "" || h.Certificates.Problem != "" || !s.hasMember(h) {
			continue
		}
		if m, _ := s.findMember(h.Name); m.Leader {
			last = append(last, h.trust())
			continue
		}
		list = append(list, h.trust())
	}
	return append(list, last...)
}

// CAsAfter returns the CAs that the file of a host must have after a step, sorted.
func (s State) CAsAfter(step MemberStep) []carotation.CA {
	if step.Action.changesTrust() {
		if next, more := carotation.NextStep(s.wantedTrust(), s.trustOfOthers("")); more && next.Host == step.Host {
			return next.CAs
		}
	}
	hosts := s.trustOfOthers(step.Host)
	if h, _ := s.findHost(step.Host); s.hasMember(h) && h.Certificates.Problem == "" {
		hosts = append(hosts, h.trust())
	}
	return carotation.NeededCAs(s.wantedTrust(), hosts)
}

// issueStep returns the step that issues the certificates of a host. It refuses while clocks disagree about the present ones,
// and while another member, or the running etcd of the host itself, does not trust the CA.
func (d decision) issueStep(h Host, reason string) (MemberStep, error) {
	if clocks := h.Certificates.Disputed; clocks != "" {
		return MemberStep{}, d.refuseHost(h, fmt.Sprintf("host %s needs certificates (%s) according to only one clock: %s", h.Name, reason, clocks))
	}
	judges := d.trustOfOthers(h.Name)
	if own := h.trust(); d.hasMember(h) && h.HasData && len(own.Loaded) > 0 {
		own.File = own.Loaded // its file is about to be replaced
		judges = append(judges, own)
	}
	for _, other := range judges {
		if !slices.Contains(other.Loaded, d.CA) || !slices.Contains(other.File, d.CA) {
			return MemberStep{}, d.refuseHost(h, fmt.Sprintf("host %s needs certificates (%s), and etcd on %s does not trust the CA that would issue them; "+
				"name the CA in the inventory that the members trust, and replace it when all are healthy", h.Name, reason, other.Host))
		}
	}
	step := MemberStep{Action: Issue, Host: h.Name, Reason: reason}
	if err := d.checkSpread(h, d.CAsAfter(step)); err != nil {
		return MemberStep{}, err
	}
	return step, nil
}

// nextBroken replaces certificates that etcd cannot use any more. The cluster need not be healthy, because this cannot make
// it worse.
func (d decision) nextBroken() (MemberStep, error) {
	if !d.issuesCertificates() {
		return MemberStep{}, nil
	}
	for _, h := range d.Hosts {
		if c := h.Certificates; h.Unreachable == "" && h.HasData && d.hasMember(h) && c.Problem != "" && !c.Foreign {
			return d.issueStep(h, c.Problem)
		}
	}
	return MemberStep{}, nil
}

// nextCertificates renews certificates, and replaces the CA. The caller makes sure that all members are healthy voters.
func (d decision) nextCertificates() (MemberStep, error) {
	if !d.issuesCertificates() {
		return MemberStep{}, nil
	}
	var unreachable []string
	for _, h := range d.Hosts {
		switch {
		case !d.hasMember(h):
		case h.Unreachable != "":
			unreachable = append(unreachable, h.Name)
		case h.Certificates.Foreign:
			return MemberStep{}, d.refuseHost(h, fmt.Sprintf("etcd on host %s uses certificates that holdfast has not issued; remove the block ca from the cluster, "+
				"or make the cluster anew with it", h.Name))
		}
	}
	step, err := d.nextTrust()
	if err == nil && step.Action != Done && len(unreachable) > 0 {
		h, _ := d.findHost(unreachable[0])
		return MemberStep{}, d.refuseHost(h, fmt.Sprintf("certificates are to be issued, and host %s is unreachable (%s): which CAs its etcd trusts is not known", h.Name, h.Unreachable))
	}
	return step, err
}

// nextTrusted renews certificates and replaces the CA. If a member must restart, and the cluster has too few voters for
// that, the cluster grows first.
func (d decision) nextTrusted() (MemberStep, error) {
	step, err := d.nextCertificates()
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal) && refusal.Kind == UnknownCA:
		return d.removeIntruder(err)
	case refusal == nil || refusal.Kind != NoMargin:
		return step, err
	}
	more, missingErr := d.nextMissing()
	if missingErr != nil || more.Action == Done {
		return step, err
	}
	if _, issueErr := d.issueFirst(MemberStep{Action: AddLearner, Host: more.Host}); issueErr != nil {
		return step, err
	}
	return more, nil
}

func (d decision) nextTrust() (MemberStep, error) {
	hosts := d.trustOfOthers("")
	next, more := carotation.NextStep(d.wantedTrust(), hosts)
	if more && next.Kind == carotation.TrustCAs {
		return d.restartWith(next)
	}
	if more {
		h, _ := d.findHost(next.Host)
		return d.issueStep(h, "the CA is replaced")
	}
	for _, trust := range hosts {
		if h, _ := d.findHost(trust.Host); h.Certificates.Due != "" {
			return d.issueStep(h, h.Certificates.Due)
		}
	}
	return MemberStep{}, nil
}

// restartWith returns the step that writes the file of trusted CAs and restarts the member, or a step that must come
// before.
func (d decision) restartWith(next carotation.Step) (MemberStep, error) {
	m, _ := d.findMember(next.Host)
	h, _ := d.findHost(next.Host)
	for _, trust := range d.trustOfOthers("") {
		other, _ := d.findHost(trust.Host)
		if err := d.checkSpread(other, next.CAs); err != nil {
			return MemberStep{}, err
		}
	}
	if before, err := d.prepareRestart(m, "the trusted CAs change", "add voters (with certificates of a CA that the members trust)"); err != nil || before.Action != Done {
		return before, err
	}
	step := MemberStep{Action: TrustCA, Host: next.Host, Member: m.ID}
	if added := d.describeNew(next.CAs, h.Certificates.Loaded); added != "" {
		step.Reason = "it is to trust the CA " + added + ", too"
		return step, nil
	}
	step.Action, step.Reason = DropCA, "it trusts a CA that no member needs any more"
	if dropped := d.describeNew(slices.Concat(h.Certificates.File, h.Certificates.Loaded), next.CAs); dropped != "" {
		step.Reason = "no member needs the CA " + dropped + " any more"
	}
	return step, nil
}

// prepareRestart returns the step before a voter may restart, or Done. It refuses if the quorum needs the voter.
func (d decision) prepareRestart(m Member, cause, advice string) (MemberStep, error) {
	c := d.countVoters()
	switch {
	case c.Margin() < 1 && !d.AllowOutage:
		return MemberStep{}, d.refuseMember(NoMargin, m, fmt.Sprintf("%s, and %s must restart for it: %d of %d voters are healthy, the quorum is %d, none to spare; "+
			"%s, or set allow_outage = true", cause, m.DisplayName(), c.Healthy, c.Voters, c.Quorum(), advice))
	case m.Leader && c.Voters > 1:
		return MemberStep{Action: MoveLeader, Host: m.Host, Member: m.ID}, nil
	}
	return MemberStep{}, nil
}

// issueFirst returns a step that issues certificates, instead of a step that starts etcd, or adds a member, on a host
// without good certificates.
func (d decision) issueFirst(step MemberStep) (MemberStep, error) {
	switch step.Action {
	case Create, AddLearner, Start:
	default:
		return step, nil
	}
	h, known := d.findHost(step.Host)
	if !d.issuesCertificates() || !known {
		return step, nil
	}
	if reason := d.whyIssue(h); reason != "" {
		return d.issueStep(h, reason)
	}
	return step, nil
}

// whyIssue returns why a host needs new certificates before etcd starts there, or "".
func (s State) whyIssue(h Host) string {
	c, others := h.Certificates, s.trustOfOthers(h.Name)
	trusted := func(ca carotation.CA) bool {
		return ca == s.CA || len(others) > 0 && !slices.ContainsFunc(others, func(o carotation.HostTrust) bool { return !slices.Contains(o.Loaded, ca) })
	}
	switch {
	case c.Problem != "":
		return c.Problem
	case c.Due != "":
		return c.Due
	case slices.ContainsFunc(c.Issuers, func(ca carotation.CA) bool { return !trusted(ca) }):
		return "the members do not trust the CA of its certificates"
	case !slices.Equal(c.File, carotation.NeededCAs(s.wantedTrust(), append(others, h.trust()))):
		return "its file of trusted CAs is of another time"
	}
	return ""
}

// WhyUncertified returns why a host needs new certificates before it starts a new cluster, for example in a restore, or "".
// In a new cluster, no other member must trust them.
func (s State) WhyUncertified(h Host) string {
	c := h.Certificates
	needed := carotation.NeededCAs(s.wantedTrust(), []carotation.HostTrust{h.trust()})
	switch {
	case !s.issuesCertificates():
		return ""
	case c.Problem != "":
		return c.Problem
	case c.Due != "":
		return c.Due
	case slices.ContainsFunc(needed, func(ca carotation.CA) bool { return !slices.Contains(c.File, ca) }):
		return "its file of trusted CAs is of another time"
	}
	return ""
}

// afterStep returns the expected state of a host's certificates after a step that writes its file of trusted CAs.
func (c Certificates) afterStep(step MemberStep, cas []carotation.CA, ca carotation.CA) Certificates {
	c.File = cas
	switch step.Action {
	case TrustCA, DropCA:
		c.Loaded = cas
	case Issue:
		c.Problem, c.Due, c.Disputed, c.Issuers = "", "", "", []carotation.CA{ca}
	default:
	}
	return c
}
