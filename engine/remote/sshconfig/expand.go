package sshconfig

import (
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

// expandName replaces a leading ~, the tokens of ssh_config(5) that apply here, and ${VAR}. Relative names stay relative to the
// working directory.
func (r *Resolver) expandName(file string, e Endpoint) string {
	tokens := map[byte]string{
		'%': "%", 'd': r.Home, 'h': e.host, 'n': r.Alias, 'p': strconv.Itoa(e.port), 'r': e.User, 'u': currentUser(),
	}
	var b strings.Builder
	for i := 0; i < len(file); i++ {
		if file[i] != '%' {
			b.WriteByte(file[i])
			continue
		}
		i++
		if i == len(file) || tokens[file[i]] == "" {
			r.setError(fmt.Errorf("expand %s: only %%%% %%d %%h %%n %%p %%r %%u are understood", file))
			return file
		}
		b.WriteString(tokens[file[i]])
	}
	out := expandEnv(b.String())
	if out == "~" || strings.HasPrefix(out, "~/") {
		out = filepath.Join(r.Home, out[1:])
	}
	return out
}

// expandEnv replaces ${VAR}. Like ssh, it leaves $VAR alone.
func expandEnv(s string) string {
	for {
		start := strings.Index(s, "${")
		if start < 0 {
			return s
		}
		length := strings.IndexByte(s[start:], '}')
		if length < 0 {
			return s
		}
		s = s[:start] + os.Getenv(s[start+2:start+length]) + s[start+length+1:]
	}
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
