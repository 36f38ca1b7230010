package sshconfig

import (
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func (r *Resolver) expandNames(files []string, e Endpoint) []string {
	out := make([]string, 0, len(files))
	for _, f := range files {
		out = append(out, r.expandName(f, e))
	}
	return out
}

// expandName replaces a leading ~, the tokens of ssh_config(5), and ${VAR}. Relative names stay relative to the working
// directory.
func (r *Resolver) expandName(file string, e Endpoint) string {
	out := file
	if strings.Contains(file, "%") { // most names have no token, and computing all values for 100,000 hosts takes long
		var err error
		if out, err = expandTokens(file, r.tokenValues(e)); err != nil {
			r.setError(err)
			return file
		}
	}
	out = expandEnv(out)
	if out == "~" || strings.HasPrefix(out, "~/") {
		out = filepath.Join(r.Home, out[1:])
	}
	return out
}

func (r *Resolver) tokenValues(e Endpoint) map[byte]string {
	values := r.userTokens(e)
	port := values['p']
	hash := sha1.Sum([]byte(values['l'] + e.host + port + e.User + e.jump)) // %C as ssh_config(5) defines it; it is not used for security
	values['C'], values['j'], values['r'] = hex.EncodeToString(hash[:]), e.jump, e.User
	return values
}

// userTokens returns the values of the tokens that User may have.
func (r *Resolver) userTokens(e Endpoint) map[byte]string {
	values := localTokens(r.Home)
	values['h'], values['n'], values['p'] = e.host, r.Alias, strconv.Itoa(e.port)
	values['k'] = cmp.Or(r.values.valueOf("HostKeyAlias").firstWord(), r.Alias)
	return values
}

// localTokens returns the values of the tokens that are equal for all hosts.
func localTokens(home string) map[byte]string {
	name, _ := os.Hostname()
	short, _, _ := strings.Cut(name, ".")
	return map[byte]string{'%': "%", 'd': home, 'i': strconv.Itoa(os.Getuid()), 'L': short, 'l': name, 'u': currentUser()}
}

func expandTokens(s string, tokens map[byte]string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			return "", fmt.Errorf("expand %s: a token is missing after %%", s)
		}
		text, known := tokens[s[i]]
		if !known {
			return "", fmt.Errorf("expand %s: only %s are understood", s, listTokens(tokens))
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

func listTokens(tokens map[byte]string) string {
	var names []string
	for _, letter := range slices.Sorted(maps.Keys(tokens)) {
		names = append(names, "%"+string(letter))
	}
	return strings.Join(names, " ")
}

func (r *Resolver) agentSocket(e Endpoint) string {
	v := r.configValue("IdentityAgent")
	switch {
	case v == "" || v == "SSH_AUTH_SOCK":
		v = r.Agent
	case strings.HasPrefix(v, "$") && !strings.HasPrefix(v, "${"):
		v = os.Getenv(v[1:])
	default:
		v = r.expandName(v, e)
	}
	if v == "none" {
		return ""
	}
	return v
}
