package hostkeys

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"

	"holdfast/engine/remote/sshconfig"

	"golang.org/x/crypto/ssh"
)

// RevokedKeys maps the keys in files of RevokedHostKeys to their file:line.
type RevokedKeys map[string]string

// RevokedCache reads each list of files once.
type RevokedCache struct {
	mu sync.Mutex
	m  map[string]RevokedKeys
}

// krlMagic begins an OpenSSH key revocation list.
const krlMagic = "SSHKRL\n\x00"

// Read returns the keys of all files. If a file cannot be read, it returns an error: then, as in ssh, no connection is
// possible.
func (c *RevokedCache) Read(files []string, r sshconfig.Reader) (RevokedKeys, error) {
	if len(files) == 0 {
		return nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := strings.Join(files, "\x00")
	if k, ok := c.m[key]; ok {
		return k, nil
	}
	keys := RevokedKeys{}
	for _, f := range files {
		if err := keys.readFile(f, r); err != nil {
			return nil, fmt.Errorf("RevokedHostKeys of ssh_config: %w", err)
		}
	}
	if c.m == nil {
		c.m = map[string]RevokedKeys{}
	}
	c.m[key] = keys
	return keys, nil
}

func (k RevokedKeys) readFile(file string, r sshconfig.Reader) error {
	text, err := r.Read(file)
	if err != nil {
		return err
	}
	if bytes.HasPrefix(text, []byte(krlMagic)) {
		return fmt.Errorf("%s is a key revocation list, which holdfast cannot read; write the revoked keys as text, one public key per line", file)
	}
	n := 0
	for line := range strings.SplitSeq(string(text), "\n") {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		where := fmt.Sprintf("%s:%d", file, n)
		key, err := parsePublicLine(line)
		if err != nil {
			return fmt.Errorf("%s: not a line with a type and a public key, so it is unknown which key is revoked: correct the line or remove it", where)
		}
		k[plainKey(key)] = where
	}
	return nil
}

// parsePublicLine parses a type, a key and perhaps a comment. Unlike a line of authorized_keys, it has no options.
func parsePublicLine(line string) (ssh.PublicKey, error) {
	words := strings.Fields(line)
	if len(words) < 2 {
		return nil, errors.New("the key is missing")
	}
	wire, err := base64.StdEncoding.DecodeString(words[1])
	if err != nil {
		return nil, err
	}
	key, err := ssh.ParsePublicKey(wire)
	if err == nil && key.Type() != words[0] {
		err = fmt.Errorf("it is a key of type %s", key.Type())
	}
	return key, err
}
