package remote

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"holdfast/engine/remote/sshconfig"

	"golang.org/x/crypto/ssh"
)

// keyFile is a private key file, perhaps still locked. All hosts share it, so a person enters its passphrase once.
type keyFile struct {
	path      string
	encrypted bool
	public    ssh.PublicKey // nil if it is not known: the file is locked, in an old format, and has no .pub beside it
	cert      *ssh.Certificate

	publicOnly bool  // only the public key can be read; it selects a key of the agent
	unreadable error // why the private key cannot be read, if publicOnly; nil: the file is a public key

	mu     chan struct{} // locks the fields below; hosts can stop waiting for it while a person types a passphrase
	pem    []byte
	signer ssh.AlgorithmSigner // nil while locked
	err    error               // reason why the file stays locked
}

// keyFiles caches key files by path. A file that cannot be read or parsed is not cached, so the next call reads it again.
type keyFiles struct {
	mu sync.Mutex
	m  map[string]*keyFile
}

// readKeyFile returns the key file at path, from the cache if an earlier call has returned it. If the file is missing, or is no
// private key that can be used here, such as one of a security key, the public key beside it counts, as for ssh. Its errors name
// the path.
func (c *keyFiles) readKeyFile(path string, r sshconfig.Reader) (*keyFile, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.m[path]; k != nil {
		return k, nil
	}
	k, err := parseKeyFile(path, r)
	if err != nil {
		public := readPublic(path+".pub", r)
		if k == nil && !errors.Is(err, fs.ErrNotExist) || public == nil {
			return nil, err
		}
		return &keyFile{path: path, public: public, cert: readCertificate(path, public, r), publicOnly: true, unreadable: err}, nil
	}
	k.cert = readCertificate(path, k.public, r)
	c.m[path] = k
	return k, nil
}

// parseKeyFile reads a private key, perhaps still locked, or a public key. With an error, the key file is nil if the file
// cannot be read.
func parseKeyFile(path string, r sshconfig.Reader) (*keyFile, error) {
	text, err := r.Read(path)
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	if public, _, _, _, err := ssh.ParseAuthorizedKey(text); err == nil {
		return &keyFile{path: path, public: public, publicOnly: true}, nil
	}
	k := &keyFile{path: path, pem: text, mu: make(chan struct{}, 1)}
	var locked *ssh.PassphraseMissingError
	switch err := k.parseKey(nil); {
	case errors.As(err, &locked):
		k.encrypted, k.public = true, locked.PublicKey
		if k.public == nil {
			k.public = readPublic(path+".pub", r)
		}
	case err != nil:
		return k, fmt.Errorf("read key %s: %w", path, err)
	}
	return k, nil
}

// readCertificate returns the certificate beside a key file, or nil if there is none for its key.
func readCertificate(path string, public ssh.PublicKey, r sshconfig.Reader) *ssh.Certificate {
	cert, ok := readPublic(path+"-cert.pub", r).(*ssh.Certificate)
	if !ok || public == nil || !sameKey(cert.Key, public) {
		return nil
	}
	return cert
}

func readPublic(path string, r sshconfig.Reader) ssh.PublicKey {
	text, err := r.Read(path)
	if err != nil {
		return nil
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		return nil
	}
	return key
}

func (k *keyFile) parseKey(passphrase []byte) error {
	var signer ssh.Signer
	var err error
	if passphrase == nil {
		signer, err = ssh.ParsePrivateKey(k.pem)
	} else {
		signer, err = ssh.ParsePrivateKeyWithPassphrase(k.pem, passphrase)
	}
	if err != nil {
		return err
	}
	s, ok := signer.(ssh.AlgorithmSigner)
	if !ok {
		return fmt.Errorf("%s keys cannot be used to log in", signer.PublicKey().Type())
	}
	k.signer, k.pem = s, nil
	if k.public == nil {
		k.public = signer.PublicKey()
	}
	return nil
}

// maxAsks is the largest number of prompts when a person unlocks a file. The prompts end earlier after an empty answer,
// or after the same answer twice in a row.
const maxAsks = 3

func (k *keyFile) unlockSigner(ctx context.Context, secrets Secrets) (ssh.AlgorithmSigner, error) {
	select {
	case k.mu <- struct{}{}:
		defer func() { <-k.mu }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if k.signer != nil || k.err != nil {
		return k.signer, k.err
	}
	if secrets == nil {
		return nil, fmt.Errorf("unlock %s: it has a passphrase, and there is no prompt", k.path)
	}
	err := k.askPassphrase(ctx, secrets)
	if err != nil && ctx.Err() == nil {
		k.err = err
	}
	return k.signer, err
}

func (k *keyFile) askPassphrase(ctx context.Context, secrets Secrets) error {
	reason := errors.New("no passphrase was given")
	var last []byte
	for n := range maxAsks {
		passphrase, err := secrets.Passphrase(ctx, k.path)
		if err != nil {
			return fmt.Errorf("ask for the passphrase of %s: %w", k.path, err)
		}
		if len(passphrase) == 0 || n > 0 && bytes.Equal(passphrase, last) {
			break
		}
		if reason = k.parseKey(passphrase); reason == nil {
			return nil
		}
		if errors.Is(reason, x509.IncorrectPasswordError) {
			reason = errors.New("wrong passphrase")
		}
		last = passphrase
	}
	return fmt.Errorf("unlock %s: %w", k.path, reason)
}
