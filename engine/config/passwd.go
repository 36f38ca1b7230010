package config

import (
	"encoding/base64"
	"path"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"
	"golang.org/x/crypto/ssh"

	"holdfast/engine/config/syntax"
)

func (v ignitionCheck) checkPasswd() {
	for i, u := range v.ignition.Passwd.Users {
		v.checkUser(u, syntax.FieldPath{"passwd", "users", i})
	}
	for i, g := range v.ignition.Passwd.Groups {
		at := syntax.FieldPath{"passwd", "groups", i}
		v.checkAccountName(g.Name, at.With("name"))
		v.checkPasswordHash(g.PasswordHash, at.With("passwordHash"))
		if g.Gid != nil && *g.Gid < 0 {
			v.addError(at.With("gid"), "is negative; correct it")
		}
		if g.ShouldExist != nil && !*g.ShouldExist && (g.Gid != nil || g.PasswordHash != nil || g.System != nil) {
			v.addError(at.With("shouldExist"), "is false, and the group has other settings; keep one")
		}
	}
}

func (v ignitionCheck) checkUser(u types.PasswdUser, at syntax.FieldPath) {
	v.checkAccountName(u.Name, at.With("name"))
	v.checkPasswordHash(u.PasswordHash, at.With("passwordHash"))
	for i, k := range u.SSHAuthorizedKeys {
		v.checkSSHKeys(string(k), at.With("sshAuthorizedKeys", i))
	}
	if u.UID != nil && *u.UID < 0 {
		v.addError(at.With("uid"), "is negative; correct it")
	}
	if u.PrimaryGroup != nil {
		v.checkAccountName(*u.PrimaryGroup, at.With("primaryGroup"))
	}
	for i, g := range u.Groups {
		v.checkAccountName(string(g), at.With("groups", i))
	}
	if u.Gecos != nil && strings.ContainsAny(*u.Gecos, ":\n\r") {
		v.addError(at.With("gecos"), "has a colon or more than one line; remove them")
	}
	for _, f := range []struct {
		field string
		value *string
	}{{"homeDir", u.HomeDir}, {"shell", u.Shell}} {
		if f.value != nil && (!path.IsAbs(*f.value) || path.Clean(*f.value) != *f.value || hasControlCharacters(*f.value) || strings.Contains(*f.value, ":")) {
			v.addError(at.With(f.field), "is not an absolute path in its simplest form; correct it")
		}
	}
	gone := u
	gone.Name, gone.ShouldExist = "", nil
	if u.ShouldExist != nil && !*u.ShouldExist && hasSettings(gone) {
		v.addError(at.With("shouldExist"), "is false, and the user has other settings; keep one")
	}
}

// hasSettings requires that the caller has cleared the name and shouldExist.
func hasSettings(u types.PasswdUser) bool {
	return u.Gecos != nil || len(u.Groups) > 0 || u.HomeDir != nil || u.NoCreateHome != nil || u.NoLogInit != nil || u.NoUserGroup != nil ||
		u.PasswordHash != nil || u.PrimaryGroup != nil || len(u.SSHAuthorizedKeys) > 0 || u.Shell != nil || u.System != nil || u.UID != nil
}

func (v ignitionCheck) checkAccountName(name string, at syntax.FieldPath) {
	if !accountPattern.MatchString(name) {
		v.addError(at, "is not a name of a user or group; use letters, digits and _ . -, 32 characters at most")
	}
}

func (v ignitionCheck) checkPasswordHash(hash *string, at syntax.FieldPath) {
	if hash != nil && !hashPattern.MatchString(*hash) {
		v.addError(at, "is not a hash as in shadow(5); make one with mkpasswd --method=yescrypt, or lock the password with \"*\"")
	}
}

func (v ignitionCheck) checkSSHKeys(entry string, at syntax.FieldPath) {
	if strings.Contains(entry, "PRIVATE KEY") {
		v.addError(at, "is a private key; use the public one (the file that ends in .pub), and make a new pair")
		return
	}
	lines := keyLines(entry)
	if len(lines) == 0 {
		v.addError(at, "is empty; write a public key, or remove it")
	}
	for _, line := range lines {
		if hasControlCharacters(strings.ReplaceAll(line, "\t", " ")) {
			v.addError(at, "has control characters; copy the public key again")
			return
		}
		if !isPublicKey(line) {
			v.addError(at, "is not a valid public key, and nobody could log in with it; copy it again")
		}
	}
}

// isPublicKey reports whether sshd can read a line of authorized_keys. A key of a
// type that the library does not know must be base64 of data that begin with the
// name of this type.
func isPublicKey(line string) bool {
	_, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
	if err == nil {
		return true
	}
	words := strings.Fields(line)
	for i, kind := range words[:len(words)-1] {
		data, err := base64.StdEncoding.DecodeString(words[i+1])
		var head struct {
			Type string
			Rest []byte `ssh:"rest"`
		}
		if err == nil && ssh.Unmarshal(data, &head) == nil && head.Type == kind && len(head.Rest) > 0 {
			return !slices.Contains(knownKeyTypes, kind)
		}
	}
	return false
}

// knownKeyTypes are the types of keys that the library reads completely.
var knownKeyTypes = []string{
	ssh.KeyAlgoRSA, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoED25519, ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256,
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
