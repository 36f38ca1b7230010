package hostkeys

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1" // for the hashed names in known_hosts
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"

	"holdfast/engine/remote/sshconfig"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// KnownHosts holds the entries of known_hosts files. An index finds plain names fast. Only lines with wildcards or
// hashed names are compared one by one. sshd(8) describes the format. Matching works as in OpenSSH.
type KnownHosts struct {
	files   []string
	lines   []knownLine
	exact   map[string][]int // lines by host:port
	tryEach []int            // lines with wildcards, exclusions or a hashed name
	revoked map[string]knownLine
}

// knownLine is one line of known_hosts.
type knownLine struct {
	where          string // file:line
	authority      bool
	wildcardNoPort bool // has a * and names no port
	key            ssh.PublicKey
	patterns       []namePattern
	salt           []byte // of a hashed name
	hash           []byte
}

// namePattern is one name of a line.
type namePattern struct {
	host, port string
	not        bool
}

// KnownHostsCache parses each list of files once for all hosts.
type KnownHostsCache struct {
	mu sync.Mutex
	m  map[string]*KnownHosts
}

// Read returns the entries of all files. It fails if a file cannot be read.
func (c *KnownHostsCache) Read(files []string, r sshconfig.Reader) (*KnownHosts, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := strings.Join(files, "\x00")
	if k := c.m[key]; k != nil {
		return k, nil
	}
	k := &KnownHosts{files: files, exact: map[string][]int{}, revoked: map[string]knownLine{}}
	for _, f := range files {
		if err := k.readFile(f, r); err != nil {
			return nil, fmt.Errorf("read known_hosts: %w", err)
		}
	}
	if c.m == nil {
		c.m = map[string]*KnownHosts{}
	}
	c.m[key] = k
	return k, nil
}

func (k *KnownHosts) readFile(file string, r sshconfig.Reader) error {
	text, err := r.Read(file)
	if err != nil {
		return err
	}
	n := 0
	for line := range strings.Lines(string(text)) { // of any length
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		where := fmt.Sprintf("%s:%d", file, n)
		switch err := k.addLine(line, where); {
		case err == nil:
		case mayRevoke(line):
			return fmt.Errorf("%s: %w: correct the line or remove it", where, err)
		default:
			r.Warn(fmt.Sprintf("%s: skipped: %v", where, err))
		}
	}
	return nil
}

// mayRevoke reports whether an invalid line may be meant to revoke a key: it has a marker that may be a misspelt @revoked.
// All other invalid lines can be skipped, as in ssh: without them, fewer keys are accepted.
func mayRevoke(line string) bool {
	marker := strings.ToLower(strings.TrimPrefix(strings.Fields(line)[0], "\ufeff"))
	return strings.HasPrefix(marker, "@") && marker != "@cert-authority"
}

func (k *KnownHosts) addLine(text, where string) error {
	marker, names, key, _, _, err := ssh.ParseKnownHosts([]byte(text))
	if errors.Is(err, io.EOF) {
		return errors.New("a line has names, a type and a key")
	}
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "ssh: "))
	}
	line := knownLine{where: where, key: key, authority: marker == "cert-authority"}
	switch marker {
	case "revoked":
		k.revoked[plainKey(key)] = line
		return nil
	case "", "cert-authority":
	default:
		return fmt.Errorf("unknown marker @%s", marker)
	}
	n := len(k.lines)
	if strings.HasPrefix(names[0], "|") {
		if err := line.parseHashedName(strings.Join(names, ",")); err != nil {
			return err
		}
		k.tryEach = append(k.tryEach, n)
	} else if line.parseNames(names) {
		for _, p := range line.patterns {
			address := net.JoinHostPort(p.host, p.port)
			if !slices.Contains(k.exact[address], n) {
				k.exact[address] = append(k.exact[address], n)
			}
		}
	} else {
		k.tryEach = append(k.tryEach, n)
	}
	k.lines = append(k.lines, line)
	return nil
}

func (l *knownLine) parseHashedName(name string) error {
	parts := strings.Split(name, "|")
	if len(parts) != 4 || parts[1] != "1" {
		return errors.New("a hashed name looks like |1|SALT|HASH")
	}
	var errSalt, errHash error
	l.salt, errSalt = base64.StdEncoding.DecodeString(parts[2])
	l.hash, errHash = base64.StdEncoding.DecodeString(parts[3])
	return errors.Join(errSalt, errHash)
}

func (l *knownLine) parseNames(names []string) (plain bool) {
	all := strings.Join(names, ",")
	l.wildcardNoPort = strings.Contains(all, "*") && !strings.Contains(all, "]:")
	plain = true
	for _, name := range names {
		var p namePattern
		name, p.not = strings.CutPrefix(name, "!")
		var err error
		if p.host, p.port, err = net.SplitHostPort(name); err != nil {
			p.host, p.port = name, "22"
		}
		if name != "" {
			p.host = strings.ToLower(p.host)
			l.patterns = append(l.patterns, p)
			plain = plain && !p.not && !strings.ContainsAny(p.host, "*?")
		}
	}
	return plain
}

func plainKey(key ssh.PublicKey) string {
	if c, ok := key.(*ssh.Certificate); ok {
		key = c.Key
	}
	return string(key.Marshal())
}

// Find returns the entries for address (host:port). If no line is about the port, Find uses the lines without a port, as ssh
// does; for a HostKeyAlias only those with a *.
func (k *KnownHosts) Find(address string, alias bool) Keys {
	address = strings.ToLower(address)
	found := Keys{known: k, address: address}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return found
	}
	found.lines = k.matchingLines(host, port)
	if len(found.lines) == 0 && port != "22" {
		found.lines = slices.DeleteFunc(k.matchingLines(host, "22"), func(l knownLine) bool { return alias && !l.wildcardNoPort })
	}
	return found
}

func (k *KnownHosts) matchingLines(host, port string) []knownLine {
	address := net.JoinHostPort(host, port)
	numbers := slices.Clone(k.exact[address])
	name := []byte(knownhosts.Normalize(address))
	for _, n := range k.tryEach {
		if k.lines[n].matchesHost(host, port, name) {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	lines := make([]knownLine, len(numbers))
	for i, n := range numbers {
		lines[i] = k.lines[n]
	}
	return lines
}

// matchesHost reports whether the line is about a host. name is the text whose hash a hashed line contains.
func (l *knownLine) matchesHost(host, port string, name []byte) bool {
	if l.hash != nil {
		sum := hashName(l.salt, name)
		return bytes.Equal(sum[:], l.hash)
	}
	matched := false
	for _, p := range l.patterns {
		if p.port != port || !sshconfig.MatchesWildcard(p.host, host) {
			continue
		}
		if p.not {
			return false
		}
		matched = true
	}
	return matched
}

// hashName computes HMAC-SHA1 without the allocations of crypto/hmac, because n hosts need n² hashes.
func hashName(salt, name []byte) [sha1.Size]byte {
	var buf [sha1.BlockSize + 256]byte
	if len(salt) > sha1.BlockSize || len(name) > 256 {
		mac := hmac.New(sha1.New, salt)
		mac.Write(name)
		return [sha1.Size]byte(mac.Sum(nil))
	}
	copy(buf[:], salt)
	for i := range sha1.BlockSize {
		buf[i] ^= 0x36
	}
	inner := sha1.Sum(append(buf[:sha1.BlockSize], name...))
	for i := range sha1.BlockSize {
		buf[i] ^= 0x36 ^ 0x5c
	}
	return sha1.Sum(append(buf[:sha1.BlockSize], inner[:]...))
}
