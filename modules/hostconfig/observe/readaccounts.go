package observe

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"holdfast/engine/resource"
	"holdfast/modules/shell"
)

func (l *probeReader) readGroups(resource.Config) error {
	for _, line := range l.parts["group"] {
		w := strings.Split(line, ":")
		if len(w) < 3 {
			return malformedLineError("groups", line)
		}
		gid, err := strconv.ParseUint(w[2], 10, 32)
		if err != nil {
			return malformedLineError("groups", line)
		}
		if l.facts.Groups == nil {
			l.facts.Groups = map[string]int{}
		}
		l.facts.Groups[w[0]] = int(gid)
	}
	return nil
}

func (l *probeReader) readUsers(resource.Config) error {
	l.facts.KeyDir = len(l.parts["keys"]) > 0
	for _, line := range l.parts["passwd"] {
		w := strings.Split(line, ":")
		if len(w) != 7 {
			return malformedLineError("users", line)
		}
		uid, err := strconv.ParseUint(w[2], 10, 32)
		gid, err2 := strconv.ParseUint(w[3], 10, 32)
		if err != nil || err2 != nil {
			return malformedLineError("users", line)
		}
		if l.facts.Users == nil {
			l.facts.Users = map[string]resource.Login{}
		}
		l.facts.Users[w[0]] = resource.Login{UID: int(uid), GID: int(gid), Gecos: w[4], Home: w[5], Shell: w[6]}
	}
	return nil
}

// readLogins reads lines of the form KIND NAME TEXT.
func (l *probeReader) readLogins(resource.Config) error {
	for _, line := range l.parts["logins"] {
		w := strings.SplitN(line, "\t", 3)
		if len(w) != 3 {
			return malformedLineError("logins", line)
		}
		if w[0] == "home" { // also of an account that no configuration names
			l.facts.LoginHome = w[2]
			continue
		}
		login, ok := l.facts.Users[w[1]]
		if !ok {
			return malformedLineError("logins", line)
		}
		switch w[0] {
		case "groups":
			if names := strings.Fields(w[2]); len(names) > 0 { // the first is the primary group
				login.Group, login.Groups = names[0], names[1:]
			}
		case "password":
			if login.Password, _, _ = strings.Cut(w[2], " "); !shell.IsHexadecimal(login.Password, 64) {
				return malformedLineError("logins", line)
			}
		case "keys":
			data, err := base64.StdEncoding.DecodeString(w[2])
			if err != nil {
				return malformedLineError("logins", line)
			}
			if len(data) > maxContents {
				return fmt.Errorf("the authorized keys of %s are more than %d MiB; remove some by hand", w[1], maxContents>>20)
			}
			login.Keys = keyLines(string(data))
		case "expires":
			login.Expires = w[2]
		case "busy":
			login.Busy = true
		case "connects":
			login.Connects = true
		case "otherkeys", "sessions":
			n, err := strconv.ParseUint(w[2], 10, 31)
			if err != nil {
				return malformedLineError("logins", line)
			}
			if w[0] == "sessions" {
				login.Sessions = int(n)
			} else {
				login.OtherKeys = int(n)
			}
		default:
			return malformedLineError("logins", line)
		}
		l.facts.Users[w[1]] = login
	}
	return nil
}

func keyLines(text string) []string {
	var keys []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			keys = append(keys, line)
		}
	}
	return keys
}
