package sshconfig

import (
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
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
	name, _ := os.Hostname()
	short, _, _ := strings.Cut(name, ".")
	port := strconv.Itoa(e.port)
	hash := sha1.Sum([]byte(name + e.host + port + e.User + e.jump)) // %C as ssh_config(5) defines it; it is not used for security
	return map[byte]string{
		'%': "%", 'C': hex.EncodeToString(hash[:]), 'd': r.Home, 'h': e.host, 'i': strconv.Itoa(os.Getuid()), 'j': e.jump,
		'k': cmp.Or(r.values.valueOf("HostKeyAlias").firstWord(), r.Alias), 'L': short, 'l': name, 'n': r.Alias, 'p': port, 'r': e.User, 'u': currentUser(),
	}
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
			return "", fmt.Errorf("expand %s: only %%%% %%C %%d %%h %%i %%j %%k %%L %%l %%n %%p %%r %%u are understood", s)
		}
		b.WriteString(text)
	}
	return b.String(), nil
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
