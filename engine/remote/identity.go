package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strings"

	"holdfast/engine/remote/sshconfig"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// identity is a key to try, from a file or from the agent.
type identity struct {
	public ssh.PublicKey
	label  string
	sign   func() (ssh.AlgorithmSigner, error) // may ask for a passphrase

	ofCertificate bool // the certificate beside a key file, whose key follows

	publicOnly bool  // there is no private key to use: the public key selects a key of the agent
	unreadable error // why the private key cannot be read, if publicOnly, or nil
}

// PublicKey returns the key that is offered to the host before anything is signed.
func (i identity) PublicKey() ssh.PublicKey { return i.public }

// Sign signs with the key's own algorithm.
func (i identity) Sign(rand io.Reader, data []byte) (*ssh.Signature, error) {
	return i.SignWithAlgorithm(rand, data, "")
}

// SignWithAlgorithm signs after the host has accepted the key, and unlocks the key first.
func (i identity) SignWithAlgorithm(rand io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	s, err := i.sign()
	if err != nil {
		return nil, err
	}
	return s.SignWithAlgorithm(rand, data, algorithm)
}

// identities holds the keys to try for one login, in order, and the reasons why
// other keys are not tried.
type identities struct {
	keys    []identity
	skipped []string
	locked  bool // a key was skipped because nobody can unlock it
}

// String lists the keys that were tried and the keys that were skipped, for an
// error.
func (ids identities) String() string {
	tried := make([]string, len(ids.keys))
	for n, k := range ids.keys {
		tried[n] = k.label + " " + ssh.FingerprintSHA256(k.public)
	}
	s := "tried " + strings.Join(tried, ", ")
	if len(tried) == 0 {
		s = "there was no key to try"
	}
	if len(ids.skipped) > 0 {
		s += " (" + strings.Join(ids.skipped, ", ") + ")"
	}
	return s
}

// dialAgent connects to the agent, or returns nil if there is none. Each login has a connection of its own, so that a
// canceled login cannot disturb another one.
func dialAgent(ctx context.Context, socket string) (net.Conn, error) {
	if socket == "" {
		return nil, nil
	}
	var d net.Dialer
	return d.DialContext(ctx, "unix", socket)
}

func agentKeys(conn net.Conn) ([]ssh.Signer, error) {
	if conn == nil {
		return nil, nil
	}
	keys, err := agent.NewClient(conn).Signers()
	if err != nil {
		return nil, fmt.Errorf("list keys of the agent: %w", err)
	}
	return keys, nil
}

// orderKeys orders the keys: first the named files (the agent signs if it has the key), then the agent's other keys
// unless IdentitiesOnly is set, then the default files.
func (l *login) orderKeys(fromAgent []ssh.Signer) (identities, error) {
	var ids identities
	files, err := l.identitiesOfFiles(&ids)
	if err != nil {
		return ids, err
	}
	var agents []identity
	for _, s := range fromAgent {
		if a, ok := s.(ssh.AlgorithmSigner); ok {
			agents = append(agents, identity{
				public: s.PublicKey(), label: "agent",
				sign: func() (ssh.AlgorithmSigner, error) { return a, nil },
			})
		}
	}
	for n, f := range files {
		if i := slices.IndexFunc(agents, func(a identity) bool { return sameKey(a.public, f.public) || sameKey(a.public, certifiedKey(f.public)) }); i >= 0 {
			files[n].sign = agents[i].sign
			files[n].label += " (agent)"
		}
	}
	agents = slices.DeleteFunc(agents, func(a identity) bool {
		return slices.ContainsFunc(files, func(f identity) bool { return sameKey(a.public, f.public) })
	})
	files = slices.DeleteFunc(files, func(f identity) bool { return l.skipIfLocked(f, &ids) })
	if l.ep.IdentitiesOnly {
		agents = nil
	}
	if l.ep.IdentitiesNamed {
		ids.keys = slices.Concat(files, agents)
	} else {
		ids.keys = slices.Concat(agents, files)
	}
	return ids, nil
}

func sameKey(a, b ssh.PublicKey) bool { return string(a.Marshal()) == string(b.Marshal()) }

// certifiedKey returns the key in a certificate, which signs for it, and another key as it is.
func certifiedKey(key ssh.PublicKey) ssh.PublicKey {
	if c, ok := key.(*ssh.Certificate); ok {
		return c.Key
	}
	return key
}

func (l *login) skipIfLocked(f identity, ids *identities) bool {
	if f.sign != nil {
		return false
	}
	if f.ofCertificate {
		return true // its key has the reason
	}
	if f.unreadable != nil && !errors.Is(f.unreadable, fs.ErrNotExist) {
		ids.skipped = append(ids.skipped, f.unreadable.Error()+", and no agent has the private key")
		return true
	}
	if f.publicOnly {
		ids.skipped = append(ids.skipped, "not "+f.label+": there is only its public key, and no agent has the private key")
		return true
	}
	ids.skipped = append(ids.skipped, "not "+f.label+": it has a passphrase, and there is no agent or prompt for it")
	ids.locked = true
	return true
}

// identitiesOfFiles returns the identities of the key files. If only an agent can sign with a key, sign is nil. A file
// that the inventory names must be readable. Of other files, those that cannot be used are skipped, as in ssh.
func (l *login) identitiesOfFiles(ids *identities) ([]identity, error) {
	var out []identity
	for _, path := range l.ep.Identities {
		k, err := l.dialer.keys.readKeyFile(path, l.dialer.files)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !l.ep.IdentitiesNamed:
			continue
		case err != nil && l.ep.IdentitiesRequired:
			return nil, err
		case err != nil:
			ids.skipped = append(ids.skipped, err.Error())
			continue
		case k.public == nil:
			ids.skipped = append(ids.skipped, "not "+path+": it is locked, and "+path+".pub is missing")
			ids.locked = true
			continue
		}
		out = append(out, l.identitiesOfFile(k)...)
	}
	return out, nil
}

func (l *login) identitiesOfFile(k *keyFile) []identity {
	sign := func() (ssh.AlgorithmSigner, error) { return l.unlockKey(k) }
	if k.publicOnly || k.encrypted && l.dialer.opts.Secrets == nil {
		sign = nil
	}
	plain := identity{public: k.public, label: k.path, sign: sign, publicOnly: k.publicOnly, unreadable: k.unreadable}
	if k.cert == nil {
		return []identity{plain}
	}
	return []identity{{public: k.cert, label: k.path + "-cert.pub", sign: sign, ofCertificate: true}, plain}
}

func (ids *identities) limitLogins(x sshconfig.Restrictions) []ssh.Signer {
	var signers []ssh.Signer
	var kept []identity
	for _, k := range ids.keys {
		if x.IsTooSmall(k.public) {
			ids.skipped = append(ids.skipped, "not "+k.label+": it "+x.TooSmallText())
			continue
		}
		signer, ok := ssh.Signer(k), true
		if x.Logins != nil {
			signer, ok = limitAlgorithms(k, x.Logins)
		}
		if !ok {
			ids.skipped = append(ids.skipped, "not "+k.label+": PubkeyAcceptedAlgorithms of ssh_config does not allow "+k.public.Type())
			continue
		}
		signers, kept = append(signers, signer), append(kept, k)
	}
	ids.keys = kept
	return signers
}

func limitAlgorithms(k identity, allowed []string) (ssh.Signer, bool) {
	plain, isCert := strings.CutSuffix(k.public.Type(), sshconfig.CertSuffix+"@openssh.com")
	names := []string{plain}
	if plain == ssh.KeyAlgoRSA {
		names = []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		if isCert {
			name += sshconfig.CertSuffix + "@openssh.com"
		}
		return !slices.Contains(allowed, name)
	})
	if len(names) == 0 {
		return nil, false
	}
	if plain != ssh.KeyAlgoRSA {
		return k, true
	}
	limited, err := ssh.NewSignerWithAlgorithms(k, names)
	return limited, err == nil
}
