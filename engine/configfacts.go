package engine

import (
	"crypto/sha256"
	"encoding/hex"
)

// RecordPath is where a host keeps the configuration that was last applied.
const RecordPath = StateDir + "/applied.json"

// Record is the record of the configuration that holdfast applied to a host. It is
// compact: no contents of files, no hashes of passwords.
type Record struct {
	Schema     int              `json:"schema"`
	Config     Config           `json:"config"`
	Existed    []string         `json:"existed,omitempty"` // directories of Config that the host had before; they stay when they leave it
	Unfinished *UnfinishedWrite `json:"unfinished,omitempty"`

	// Accounts says where accounts come from: users by their names, groups as
	// "group/NAME". Of one of Config that is not in it nobody knows.
	Accounts map[string]AccountOrigin `json:"accounts,omitempty"`
}

// RecordSchema is the version of Applied that is written. Version 1, which has
// no Accounts, is read too. Another is not understood.
const RecordSchema = 2

// AccountOrigin says where an account comes from.
type AccountOrigin string

// The origins of accounts. An account made by holdfast has no original: when it leaves
// the configuration it is locked, and stays in Applied.Accounts.
const (
	FoundAccount AccountOrigin = "found" // the host had it before holdfast
	MadeAccount  AccountOrigin = "made"  // holdfast made it
)

// UnfinishedWrite is a configuration that was, or may have been, partly written, and
// has not wholly taken effect.
type UnfinishedWrite struct {
	Run      string   `json:"run"`                // that writes it
	Boot     string   `json:"boot"`               // boot ID then; another boot has taken everything into effect that was written
	Config   Config   `json:"config"`             // that the run writes
	Touched  []string `json:"touched,omitempty"`  // resources that writes have changed since the last record, by name: they may or may not have taken effect
	Ours     []string `json:"ours,omitempty"`     // paths that were holdfast's before it began, and stay so or go
	Appended []File   `json:"appended,omitempty"` // text that earlier unfinished writes appended to files of the host, or tried to
	Failed   string   `json:"failed,omitempty"`   // action that failed, so that it takes a reboot
}

// ConfigFacts is the observed state of every path, unit, user and group that the
// desired, the recorded or the unfinished configuration names.
type ConfigFacts struct {
	Applied  *Record              `json:"applied,omitempty"`  // nil: nothing was recorded
	Problem  string               `json:"problem,omitempty"`  // why nothing may be written: a record that cannot be read, a tool that is missing
	Nodes    map[string]PathFacts `json:"nodes,omitempty"`    // by path; PathMissing where there is nothing
	Saved    map[string]bool      `json:"saved,omitempty"`    // paths whose originals are kept
	Units    map[string]string    `json:"units,omitempty"`    // by name, the output of systemctl is-enabled
	Users    map[string]Login     `json:"users,omitempty"`    // by name; those there are
	Groups   map[string]int       `json:"groups,omitempty"`   // GID by name; those there are
	KeyDir   bool                 `json:"key_dir,omitempty"`  // sshd reads ~/.ssh/authorized_keys.d, so SSH keys go there
	Links    map[string]string    `json:"links,omitempty"`    // directories on the way to Nodes that are symbolic links, and their targets
	Fleeting []string             `json:"fleeting,omitempty"` // directories on the way to Nodes that are lost when the host reboots
}

// PathFacts is an entry of a host's file system.
type PathFacts struct {
	Type     PathType `json:"type"`
	Digest   string   `json:"digest,omitempty"` // of a file: SHA-256, hexadecimal; "large" of one from 100 MB on
	Target   string   `json:"target,omitempty"` // of a symbolic link
	Mode     int      `json:"mode"`             // permission bits, with setuid, setgid and sticky
	UID      int      `json:"uid"`
	GID      int      `json:"gid"`
	User     string   `json:"user,omitempty"` // names, where the host knows them
	Group    string   `json:"group,omitempty"`
	Inode    string   `json:"inode,omitempty"` // device and inode: the same for hard links of each other
	Contents []byte   `json:"-"`               // of the few files whose contents a plan depends on
	Base     []byte   `json:"-"`               // of a file that something is appended to: its original, if one is kept
}

// PathType is a kind of Node.
type PathType string

// The kinds of nodes.
const (
	PathMissing   PathType = ""
	PathFile      PathType = "file"
	PathDirectory PathType = "directory"
	PathLink      PathType = "link"
	PathOther     PathType = "other"
)

// Login is an account of a host.
type Login struct {
	UID      int      `json:"uid"`
	GID      int      `json:"gid"`
	Group    string   `json:"group,omitempty"`  // primary
	Groups   []string `json:"groups,omitempty"` // supplementary, without the primary one
	Gecos    string   `json:"gecos,omitempty"`
	Home     string   `json:"home,omitempty"`
	Shell    string   `json:"shell,omitempty"`
	Password string   `json:"password,omitempty"` // Digest of the hash in shadow
	Keys     []string `json:"keys,omitempty"`     // SSH keys, a line each, that holdfast or Ignition keeps there
	Expires  string   `json:"expires,omitempty"`  // day of its expiry as in shadow; "": never
	Connects bool     `json:"connects,omitempty"` // it is the account that holdfast logs in as

	// OtherKeys and Sessions count its other SSH keys and its sessions, where that
	// matters: of the account that holdfast logs in as, and of those that leave the
	// configuration.
	OtherKeys int `json:"other_keys,omitempty"`
	Sessions  int `json:"sessions,omitempty"`
}

// RetiredExpiry is the day of expiry of an account that holdfast has locked:
// the first after 1970-01-01 that shadow understands.
const RetiredExpiry = "1"

// Retired reports whether the account is locked as holdfast does it.
func (l Login) Retired() bool { return l.Expires == RetiredExpiry }

// Digest returns the SHA-256 of data in hexadecimal, which names contents.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// registriesConf is the one file whose old contents a rule depends on.
const registriesConf = "/etc/containers/registries.conf"

// Compact returns the configuration with digests in place of file contents and password
// hashes, and the contents by digest. It keeps contents that a rule reads, and text that
// is appended to a file of the host.
func (c Config) Compact() (Config, map[string][]byte) {
	contents := map[string][]byte{}
	named := func(secret string) string {
		if secret == "" || isDigest(secret) {
			return secret
		}
		contents[Digest([]byte(secret))] = []byte(secret)
		return Digest([]byte(secret))
	}
	files := make([]File, len(c.Files))
	for i, f := range c.Files {
		if !f.Inherit && f.Digest == "" {
			whole := f.Contents
			if len(f.Append) > 0 {
				whole = append(append([]byte(nil), f.Contents...), f.Append...)
			}
			if f.Digest = f.Sum; f.Digest == "" {
				f.Digest = Digest(whole)
			}
			f.Append, f.Sum = nil, ""
			contents[f.Digest] = whole
			if f.Contents = nil; f.Path == registriesConf {
				f.Contents = whole
			}
		}
		files[i] = f
	}
	c.Files = files
	c.Users = append([]User(nil), c.Users...)
	for i := range c.Users {
		c.Users[i].PasswordHash = named(c.Users[i].PasswordHash)
	}
	c.Groups = append([]Group(nil), c.Groups...)
	for i := range c.Groups {
		c.Groups[i].PasswordHash = named(c.Groups[i].PasswordHash)
	}
	return c, contents
}

// isDigest distinguishes a Digest from a hash of a password, which never has that form.
func isDigest(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && len(s) == hex.EncodedLen(sha256.Size)
}
