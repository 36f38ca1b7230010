package sshconfig

import (
	"crypto/rsa"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"
)

// Restrictions are the options of ssh_config that prevent connections. A nil list restricts nothing.
type Restrictions struct {
	Keys         []string // HostKeyAlgorithms
	Authorities  []string // CASignatureAlgorithms
	Logins       []string // PubkeyAcceptedAlgorithms
	Ciphers      []string
	Macs         []string
	KeyExchanges []string
	minRSA       int      // RequiredRSASize, in bits; 0: no bound
	Revoked      []string // files of RevokedHostKeys
	Network      string   // "tcp", or "tcp4" or "tcp6" by AddressFamily
}

func (r *Resolver) readRestrictions(e *Endpoint) {
	supported := ssh.SupportedAlgorithms()
	x := &e.Restrictions
	x.Keys = r.readAlgorithms("HostKeyAlgorithms", supported.HostKeys)
	x.Authorities = r.readAlgorithms("CASignatureAlgorithms", supported.PublicKeyAuths)
	if x.Authorities == nil {
		x.Authorities = supported.PublicKeyAuths // as in ssh, SHA-1 signatures of an authority are never accepted
	}
	keyword := "PubkeyAcceptedAlgorithms"
	if r.configValue(keyword) == "" {
		keyword = "PubkeyAcceptedKeyTypes" // the name of the option before OpenSSH 8.5
	}
	x.Logins = r.readAlgorithms(keyword, loginAlgorithms(supported.PublicKeyAuths))
	x.Ciphers = r.readAlgorithms("Ciphers", supported.Ciphers)
	x.Macs = r.readAlgorithms("MACs", supported.MACs)
	x.KeyExchanges = r.readAlgorithms("KexAlgorithms", supported.KeyExchanges)
	if r.configValue("RequiredRSASize") != "" {
		x.minRSA = r.configNumber("RequiredRSASize", 0)
	}
	for _, f := range r.expandNames(r.values.valueOf("RevokedHostKeys").words, *e) {
		if f != "none" {
			x.Revoked = append(x.Revoked, f)
		}
	}
	x.Network = "tcp"
	switch strings.ToLower(r.configValue("AddressFamily")) {
	case "inet":
		x.Network = "tcp4"
	case "inet6":
		x.Network = "tcp6"
	}
	r.refuseOptions()
	r.warnOfOptions()
}

// readAlgorithms reads a list of algorithms as in ssh_config(5): names and patterns that replace the default, or change
// it after +, - or ^. It returns only supported algorithms, or nil if the option is not set.
func (r *Resolver) readAlgorithms(keyword string, supported []string) []string {
	v := r.configValue(keyword)
	if v == "" {
		return nil
	}
	change := v[0]
	if strings.ContainsRune("+-^", rune(change)) {
		v = v[1:]
	}
	var listed []string
	for pattern := range strings.SplitSeq(v, ",") {
		for _, name := range supported {
			if MatchesWildcard(strings.TrimSpace(pattern), name) && !slices.Contains(listed, name) {
				listed = append(listed, name)
			}
		}
	}
	isListed := func(name string) bool { return slices.Contains(listed, name) }
	rest := slices.DeleteFunc(slices.Clone(supported), isListed)
	switch change {
	case '+': // supported has all algorithms that can be added
		listed = slices.Clone(supported)
	case '-':
		listed = rest
	case '^':
		listed = append(listed, rest...)
	}
	if len(listed) == 0 {
		r.setError(fmt.Errorf("%s: %s %s of %s leaves no algorithm that holdfast supports; it supports %s",
			r.values.valueOf(keyword).at, keyword, r.configValue(keyword), r.Alias, strings.Join(supported, ", ")))
	}
	return listed
}

func loginAlgorithms(plain []string) []string {
	all := slices.Clone(plain)
	for _, a := range plain {
		name, domain, _ := strings.Cut(a, "@")
		if domain == "" {
			domain = "openssh.com"
		}
		all = append(all, name+CertSuffix+"@"+domain)
	}
	return all
}

// CertSuffix ends the name of a certificate's algorithm, before the @ and the
// domain.
const CertSuffix = "-cert-v01"

func (r *Resolver) refuseOptions() {
	if reason := r.values.valueOf("RefuseConnection"); reason.text != "" {
		r.setError(fmt.Errorf("%s: RefuseConnection of %s: %s", reason.at, r.Alias, strings.Trim(reason.text, `"`)))
	}
	if v := r.configValue("PubkeyAuthentication"); isNo(v) {
		r.setError(fmt.Errorf("%s: PubkeyAuthentication %s of %s: holdfast logs in with keys only", r.values.valueOf("PubkeyAuthentication").at, v, r.Alias))
	}
	ways := r.configValue("PreferredAuthentications")
	if ways != "" && !slices.ContainsFunc(strings.Split(ways, ","), func(w string) bool { return strings.TrimSpace(w) == "publickey" }) {
		r.setError(fmt.Errorf("%s: PreferredAuthentications %s of %s: holdfast logs in with keys only; add publickey",
			r.values.valueOf("PreferredAuthentications").at, ways, r.Alias))
	}
}

func (r *Resolver) warnOfOptions() {
	for _, o := range []struct{ keyword, but string }{
		{"CheckHostIP", "only the name of a host is looked up in known_hosts, not its IP address"},
		{"CanonicalizeHostname", "the name is used as it is"},
		{"BindAddress", "the system chooses the address to connect from"},
		{"BindInterface", "the system chooses the interface to connect from"},
	} {
		v := r.configValue(o.keyword)
		if v != "" && !isNo(v) && !strings.EqualFold(v, "none") {
			r.Warn(fmt.Sprintf("%s: %s %s has no effect here: %s", r.values.valueOf(o.keyword).at, o.keyword, v, o.but))
		}
	}
}

// IsTooSmall reports whether an RSA key has fewer bits than RequiredRSASize.
func (x Restrictions) IsTooSmall(key ssh.PublicKey) bool {
	if c, ok := key.(*ssh.Certificate); ok {
		key = c.Key
	}
	crypto, ok := key.(ssh.CryptoPublicKey)
	if !ok {
		return false
	}
	k, ok := crypto.CryptoPublicKey().(*rsa.PublicKey)
	return ok && k.N.BitLen() < x.minRSA
}

// TooSmallText returns the predicate of a message about a key that is too
// small.
func (x Restrictions) TooSmallText() string {
	return "is smaller than RequiredRSASize of ssh_config, " + strconv.Itoa(x.minRSA) + " bits"
}
