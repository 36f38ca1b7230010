package hostkeys

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"holdfast/engine/remote/sshconfig"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// Refusal explains why a key is not accepted for a host.
type Refusal struct {
	Unknown bool   // known_hosts has no key for the host; false: known_hosts has another key, or the key is not valid
	Step    string // the action and its object
	Err     error  // the cause
	Hint    string // advice
}

// Error returns the cause and the advice.
func (e *Refusal) Error() string { return e.Step + ": " + e.Err.Error() + "; " + e.Hint }

// Unwrap returns the cause.
func (e *Refusal) Unwrap() error { return e.Err }

// Keys holds the entries of known_hosts for one host.
type Keys struct {
	known   *KnownHosts
	address string // host:port, in lower case
	lines   []knownLine

	Revoked      RevokedKeys // also refused, besides the revoked keys of known
	Restrictions sshconfig.Restrictions
}

// Algorithms returns the host key algorithms to offer to the host, best first. A server shows only one key, so the
// algorithms that known_hosts can verify come first: certificates if known_hosts has an authority for the host, then
// the types of the known keys. A certificate has the type of the host key, not of the authority, so all types of
// certificates are offered. The other types follow: if a host has only other keys, Check then refuses the key and can
// show it. Without the other types, the negotiation would fail. HostKeyAlgorithms of ssh_config removes some
// algorithms.
func (k Keys) Algorithms() []string {
	var authority bool
	known := map[string]bool{}
	for _, l := range k.lines {
		authority = authority || l.authority
		if !l.authority {
			known[l.key.Type()] = true
		}
	}
	supported := ssh.SupportedAlgorithms().HostKeys
	slices.Reverse(supported) // from the newest to RSA
	if allowed := k.Restrictions.Keys; allowed != nil {
		supported = slices.DeleteFunc(supported, func(a string) bool { return !slices.Contains(allowed, a) })
	}
	var certificates, vouched, others []string
	for _, a := range supported {
		switch {
		case strings.Contains(a, "-cert-"):
			certificates = append(certificates, a)
		case known[keyType(a)]:
			vouched = append(vouched, a)
		default:
			others = append(others, a)
		}
	}
	if !authority {
		return append(vouched, others...)
	}
	return slices.Concat(certificates, vouched, others)
}

func keyType(algorithm string) string {
	if algorithm == ssh.KeyAlgoRSASHA256 || algorithm == ssh.KeyAlgoRSASHA512 {
		return ssh.KeyAlgoRSA
	}
	return algorithm
}

// Check returns nil if key is accepted for the host, else the refusal.
func (k Keys) Check(key ssh.PublicKey) *Refusal {
	step := "check host key of " + strings.TrimSuffix(k.address, ":22")
	if where, ok := k.revokedAt(key); ok {
		return &Refusal{
			Step: step, Err: fmt.Errorf("it shows %s, which is revoked at %s", describeKey(key), where),
			Hint: "give the host a new key; this one is not safe",
		}
	}
	if k.Restrictions.IsTooSmall(key) {
		return &Refusal{
			Step: step, Err: fmt.Errorf("it shows %s, which %s", describeKey(key), k.Restrictions.TooSmallText()),
			Hint: "give the host a larger key, or one of another type",
		}
	}
	if cert, ok := key.(*ssh.Certificate); ok {
		return k.checkCertificate(step, cert)
	}
	if k.hasKey(key, false) {
		return nil
	}
	return k.refuseKey(step, key)
}

func (k Keys) revokedAt(key ssh.PublicKey) (where string, is bool) {
	if line, ok := k.known.revoked[plainKey(key)]; ok {
		return line.where, true
	}
	where, is = k.Revoked[plainKey(key)]
	return where, is
}

func (k Keys) hasKey(key ssh.PublicKey, authority bool) bool {
	return slices.ContainsFunc(k.lines, func(l knownLine) bool {
		return l.authority == authority && string(l.key.Marshal()) == string(key.Marshal())
	})
}

// checkCertificate accepts a valid certificate of an authority in known_hosts. Like ssh, it then looks for the plain key,
// unless the authority is revoked.
func (k Keys) checkCertificate(step string, cert *ssh.Certificate) *Refusal {
	if where, ok := k.revokedAt(cert.SignatureKey); ok {
		return &Refusal{
			Step: step,
			Err:  fmt.Errorf("its certificate %s is signed by %s, which is revoked at %s", describeKey(cert), describeKey(cert.SignatureKey), where),
			Hint: "sign its host key again, by another authority",
		}
	}
	refused := k.refuseCertificate(step, cert)
	if refused != nil && k.hasKey(cert.Key, false) && k.isTypeAllowed(cert.Key) {
		return nil
	}
	return refused
}

func (k Keys) isTypeAllowed(key ssh.PublicKey) bool {
	allowed := k.Restrictions.Keys
	return allowed == nil || slices.ContainsFunc(allowed, func(algorithm string) bool { return keyType(algorithm) == key.Type() })
}

func (k Keys) refuseCertificate(step string, cert *ssh.Certificate) *Refusal {
	if allowed := k.Restrictions.Authorities; cert.Signature == nil || !slices.Contains(allowed, cert.Signature.Format) {
		return &Refusal{
			Step: step,
			Err:  fmt.Errorf("its certificate %s is signed with an algorithm that CASignatureAlgorithms does not allow; it allows %s", describeKey(cert), strings.Join(allowed, ", ")),
			Hint: "sign its host key again, with one of these algorithms",
		}
	}
	if err := k.validateCertificate(cert); err != nil {
		return &Refusal{
			Step: step, Err: fmt.Errorf("its certificate %s is not valid here: %w", describeKey(cert), err),
			Hint: "sign its host key again, for this name and by the authority in known_hosts",
		}
	}
	return nil
}

// validateCertificate checks a certificate as ssh.CertChecker.CheckHostKey does. But its principals may be patterns, as for ssh.
func (k Keys) validateCertificate(cert *ssh.Certificate) error {
	if cert.CertType != ssh.HostCert {
		return errors.New("it is a certificate of a user")
	}
	if !k.hasKey(cert.SignatureKey, true) {
		return fmt.Errorf("known_hosts does not have its authority %s for this host", describeKey(cert.SignatureKey))
	}
	name, _, err := net.SplitHostPort(k.address)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(cert.ValidPrincipals, func(pattern string) bool { return sshconfig.MatchesWildcard(pattern, name) }); i >= 0 {
		name = cert.ValidPrincipals[i]
	}
	return new(ssh.CertChecker).CheckCert(name, cert)
}

// refuseKey returns the refusal of a key that known_hosts does not have. It may have another key of the host, an authority, or
// nothing.
func (k Keys) refuseKey(step string, key ssh.PublicKey) *Refusal {
	var want []string
	authority := false
	for _, l := range k.lines {
		if authority = authority || l.authority; !l.authority {
			want = append(want, fmt.Sprintf("%s (%s)", describeKey(l.key), l.where))
		}
	}
	own := "(`ssh-keygen -lf /etc/ssh/ssh_host_" + fileType(key) + "_key.pub` on its console)"
	if len(want) > 0 {
		return &Refusal{
			Step: step,
			Err:  fmt.Errorf("it shows %s, but known_hosts has %s", describeKey(key), strings.Join(want, " and ")),
			Hint: "either it was reinstalled or something else answers in its place: compare with the host's own key " + own +
				" and replace that line only if they are the same",
		}
	}
	where := "no entry in " + strings.Join(k.known.files, ", ")
	if len(k.known.files) == 0 {
		where = "there is no known_hosts file"
	}
	if authority {
		where = "known_hosts has an authority for it, but it shows no certificate"
	}
	return &Refusal{
		Step: step, Unknown: true, Err: fmt.Errorf("%s; it shows %s", where, describeKey(key)),
		Hint: "compare with the host's own key " + own + ", then add it: " + knownhosts.Line([]string{k.address}, key),
	}
}

func describeKey(key ssh.PublicKey) string { return key.Type() + " " + ssh.FingerprintSHA256(key) }

func fileType(key ssh.PublicKey) string {
	switch t := key.Type(); {
	case strings.Contains(t, "rsa"):
		return "rsa"
	case strings.Contains(t, "ecdsa"):
		return "ecdsa"
	}
	return "ed25519"
}
