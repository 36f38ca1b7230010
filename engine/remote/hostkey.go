package remote

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"
)

// hostKeys is what some known_hosts files say.
type hostKeys struct {
	db    *knownhosts.HostKeyDB
	files []string
}

// hostKeyCache parses each list of known_hosts files once; a fleet shares one.
type hostKeyCache struct {
	mu sync.Mutex
	m  map[string]hostKeys
}

func (c *hostKeyCache) get(files []string) (hostKeys, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := strings.Join(files, "\x00")
	if k, ok := c.m[key]; ok {
		return k, nil
	}
	db, err := knownhosts.NewDB(files...)
	if err != nil {
		return hostKeys{}, fmt.Errorf("read known_hosts: %w", err)
	}
	c.m[key] = hostKeys{db: db, files: files}
	return c.m[key], nil
}

// algorithms returns the host key algorithms to offer to address (host:port), best first. A server shows one key only, so those
// that known_hosts can vouch for come first: certificates if an authority is known for the host, then the known types. The
// remaining types follow, so that a host with other keys only is told apart from one that speaks no common algorithm: the check
// still refuses its key, and can show it. Certificates are of the host key's type, not the authority's, therefore all of them.
func (k hostKeys) algorithms(address string) []string {
	var authority bool
	known := map[string]bool{}
	for _, key := range k.db.HostKeys(address) {
		authority = authority || key.Cert
		if !key.Cert {
			known[key.Type()] = true
		}
	}
	supported := ssh.SupportedAlgorithms().HostKeys
	slices.Reverse(supported) // from the newest to RSA
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

// keyType returns the type of the keys that sign with an algorithm.
func keyType(algorithm string) string {
	if algorithm == ssh.KeyAlgoRSASHA256 || algorithm == ssh.KeyAlgoRSASHA512 {
		return ssh.KeyAlgoRSA
	}
	return algorithm
}

// check returns nil if key may be the host key of address (host:port), else an *Error without a host.
func (k hostKeys) check(address string, remote net.Addr, key ssh.PublicKey) *Error {
	step := "check host key of " + strings.TrimSuffix(address, ":22")
	err := k.db.HostKeyCallback()(address, remote, key)
	_, certified := key.(*ssh.Certificate)
	if err == nil && (certified || k.plain(address, key)) {
		return nil
	}
	var unknown *xknownhosts.KeyError
	var revoked *xknownhosts.RevokedError
	switch {
	case errors.As(err, &revoked):
		return &Error{Kind: HostKeyMismatch, Step: step, Err: fmt.Errorf("it shows %s, which %s:%d marks as revoked",
			show(key), revoked.Revoked.Filename, revoked.Revoked.Line), Hint: "give the host a new key; this one is not safe"}
	case errors.As(err, &unknown):
		return k.explain(step, address, key, unknown)
	case err == nil:
		return k.explain(step, address, key, &xknownhosts.KeyError{})
	}
	return &Error{
		Kind: HostKeyMismatch, Step: step, Err: fmt.Errorf("its certificate %s is not valid here: %w", show(key), err),
		Hint: "sign its host key again, for this name and by the authority in known_hosts",
	}
}

// plain reports whether known_hosts has key as a host key, rather than as an authority: an authority's own key is no host key.
func (k hostKeys) plain(address string, key ssh.PublicKey) bool {
	return slices.ContainsFunc(k.db.HostKeys(address), func(known knownhosts.PublicKey) bool {
		return !known.Cert && string(known.Marshal()) == string(key.Marshal())
	})
}

// explain tells a host that is not known from one that is known with another key.
func (k hostKeys) explain(step, address string, key ssh.PublicKey, err *xknownhosts.KeyError) *Error {
	var want []string
	for _, w := range err.Want {
		if k.authority(address, w.Key) {
			continue
		}
		want = append(want, fmt.Sprintf("%s (%s:%d)", show(w.Key), w.Filename, w.Line))
	}
	own := "(`ssh-keygen -lf /etc/ssh/ssh_host_" + fileType(key) + "_key.pub` on its console)"
	if len(want) > 0 {
		return &Error{
			Kind: HostKeyMismatch, Step: step,
			Err: fmt.Errorf("it shows %s, but known_hosts has %s", show(key), strings.Join(want, " and ")),
			Hint: "either it was reinstalled or something else answers in its place: compare with the host's own key " + own +
				" and replace that line only if they are the same",
		}
	}
	where := "no entry in " + strings.Join(k.files, ", ")
	if len(k.files) == 0 {
		where = "there is no known_hosts file"
	}
	if len(k.db.HostKeys(address)) > 0 {
		where = "known_hosts has an authority for it, but it shows no certificate"
	}
	return &Error{
		Kind: HostKeyUnknown, Step: step, Err: fmt.Errorf("%s; it shows %s", where, show(key)),
		Hint: "compare with the host's own key " + own + ", then add it: " + knownhosts.Line([]string{address}, key),
	}
}

func (k hostKeys) authority(address string, key ssh.PublicKey) bool {
	return slices.ContainsFunc(k.db.HostKeys(address), func(known knownhosts.PublicKey) bool {
		return known.Cert && string(known.Marshal()) == string(key.Marshal())
	})
}

// show names a key as ssh-keygen -l does: type and fingerprint.
func show(key ssh.PublicKey) string { return key.Type() + " " + ssh.FingerprintSHA256(key) }

// fileType returns the part of the name of sshd's key file that says the type.
func fileType(key ssh.PublicKey) string {
	switch t := key.Type(); {
	case strings.Contains(t, "rsa"):
		return "rsa"
	case strings.Contains(t, "ecdsa"):
		return "ecdsa"
	}
	return "ed25519"
}
