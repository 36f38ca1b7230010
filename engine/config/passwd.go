package config

import (
	"path"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_5/types"
	"golang.org/x/crypto/ssh"

	"holdfast/engine/config/syntax"
)

func (d *document) checkPasswd() {
	for i, u := range d.ignition.Passwd.Users {
		d.checkUser(u, syntax.FieldPath{"passwd", "users", i})
	}
	for i, g := range d.ignition.Passwd.Groups {
		at := syntax.FieldPath{"passwd", "groups", i}
		d.checkAccountName(g.Name, at.With("name"))
		d.checkPasswordHash(g.PasswordHash, at.With("passwordHash"))
		if g.Gid != nil && *g.Gid < 0 {
			d.addError(at.With("gid"), "is negative; correct it")
		}
		if g.ShouldExist != nil && !*g.ShouldExist && (g.Gid != nil || g.PasswordHash != nil || g.System != nil) {
			d.addError(at.With("shouldExist"), "is false, and the group has other settings; keep one")
		}
	}
}

func (d *document) checkUser(u types.PasswdUser, at syntax.FieldPath) {
	d.checkAccountName(u.Name, at.With("name"))
	d.checkPasswordHash(u.PasswordHash, at.With("passwordHash"))
	for i, k := range u.SSHAuthorizedKeys {
		d.checkSSHKeys(string(k), at.With("sshAuthorizedKeys", i))
	}
	if u.UID != nil && *u.UID < 0 {
		d.addError(at.With("uid"), "is negative; correct it")
	}
	if u.PrimaryGroup != nil {
		d.checkAccountName(*u.PrimaryGroup, at.With("primaryGroup"))
	}
	for i, g := range u.Groups {
		d.checkAccountName(string(g), at.With("groups", i))
	}
	if u.Gecos != nil && strings.ContainsAny(*u.Gecos, ":\n\r") {
		d.addError(at.With("gecos"), "has a colon or more than one line; remove them")
	}
	for _, f := range []struct {
		field string
		value *string
	}{{"homeDir", u.HomeDir}, {"shell", u.Shell}} {
		if f.value != nil && (!path.IsAbs(*f.value) || path.Clean(*f.value) != *f.value || hasControlCharacters(*f.value) || strings.Contains(*f.value, ":")) {
			d.addError(at.With(f.field), "is not an absolute path in its simplest form; correct it")
		}
	}
	gone := u
	gone.Name, gone.ShouldExist = "", nil
	if u.ShouldExist != nil && !*u.ShouldExist && hasSettings(gone) {
		d.addError(at.With("shouldExist"), "is false, and the user has other settings; keep one")
	}
}

// hasSettings requires that the caller has cleared the name and shouldExist.
func hasSettings(u types.PasswdUser) bool {
	return u.Gecos != nil || len(u.Groups) > 0 || u.HomeDir != nil || u.NoCreateHome != nil || u.NoLogInit != nil || u.NoUserGroup != nil ||
		u.PasswordHash != nil || u.PrimaryGroup != nil || len(u.SSHAuthorizedKeys) > 0 || u.Shell != nil || u.System != nil || u.UID != nil
}

func (d *document) checkAccountName(name string, at syntax.FieldPath) {
	if !accountPattern.MatchString(name) {
		d.addError(at, "is not a name of a user or group; use letters, digits and _ . -, 32 characters at most")
	}
}

func (d *document) checkPasswordHash(hash *string, at syntax.FieldPath) {
	if hash != nil && !hashPattern.MatchString(*hash) {
		d.addError(at, "is not a hash as in shadow(5); make one with mkpasswd --method=yescrypt, or lock the password with \"*\"")
	}
}

func (d *document) checkSSHKeys(entry string, at syntax.FieldPath) {
	if strings.Contains(entry, "PRIVATE KEY") {
		d.addError(at, "is a private key; use the public one (the file that ends in .pub), and make a new pair")
		return
	}
	lines := keyLines(entry)
	if len(lines) == 0 {
		d.addError(at, "is empty; write a public key, or remove it")
	}
	for _, line := range lines {
		if hasControlCharacters(strings.ReplaceAll(line, "\t", " ")) {
			d.addError(at, "has control characters; copy the public key again")
			return
		}
		if _, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line)); err != nil {
			d.addWarning(at, "is not a valid public key; copy it again")
		}
	}
}

func keyLines(entry string) []string {
	var lines []string
	for line := range strings.SplitSeq(entry, "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}
