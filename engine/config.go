package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"holdfast/engine/textutil"
)

// Config is the desired configuration of one host, merged from its documents. Package
// engine/config reads it, and package engine/rules compares two Configs. A compact Config
// has digests in place of large or secret contents; see Compact. Lists are sorted by name or path, except
// KernelArgs, whose order matters. It contains secrets (file contents, password hashes):
// hosts record it, and nothing prints it.
type Config struct {
	OSImage         string      `json:"os_image,omitempty"`         // osImageURL of a MachineConfig
	ExtensionsImage string      `json:"extensions_image,omitempty"` // where extensions come from
	Extensions      []string    `json:"extensions,omitempty"`       // each once
	KernelType      string      `json:"kernel_type,omitempty"`      // default, realtime or 64k-pages; "" is default
	KernelArgs      []string    `json:"kernel_args,omitempty"`      // required arguments, in this order; one that is repeated is required as often
	NoKernelArgs    []string    `json:"no_kernel_args,omitempty"`   // arguments that must be absent
	Files           []File      `json:"files,omitempty"`
	Directories     []Directory `json:"directories,omitempty"`
	Links           []Link      `json:"links,omitempty"`
	Units           []Unit      `json:"units,omitempty"`
	Users           []User      `json:"users,omitempty"`
	Groups          []Group     `json:"groups,omitempty"`
	Fixed           []Fixed     `json:"fixed,omitempty"`
}

// File is a regular file. With Inherit the host's contents stay (none if it has no
// file), and holdfast sets only Append, Mode and Owner.
type File struct {
	Path     string         `json:"path"`
	Contents []byte         `json:"contents,omitempty"` // decoded and decompressed
	Inherit  bool           `json:"inherit,omitempty"`  // Contents stay the host's
	Append   []byte         `json:"append,omitempty"`   // comes after the contents
	Digest   string         `json:"digest,omitempty"`   // of Contents; in a compact Config, in their place
	Base     string         `json:"base,omitempty"`     // in a record, with Inherit: digest of the contents when holdfast first appended to them
	Mode     *int           `json:"mode,omitempty"`     // permission bits; nil, only with Inherit: the host's, or 0644 for a new file
	Owner    Owner          `json:"owner"`
	Keep     bool           `json:"keep,omitempty"` // overwrite = false: a file that holdfast did not write stays, and is a problem
	Sum      string         `json:"-"`              // digest of Contents, if they are set and nothing is appended; "" if not computed
	From     SourcePosition `json:"-"`
}

// Directory is a directory without its contents.
type Directory struct {
	Path  string         `json:"path"`
	Mode  *int           `json:"mode,omitempty"` // permission bits; nil: the host's, or 0755
	Owner Owner          `json:"owner"`
	From  SourcePosition `json:"-"`
}

// Link is a symbolic or hard link.
type Link struct {
	Path   string         `json:"path"`
	Target string         `json:"target"`
	Hard   bool           `json:"hard,omitempty"`
	Owner  Owner          `json:"owner"`          // of a symbolic link itself
	Keep   bool           `json:"keep,omitempty"` // overwrite = false: another thing at that path stays, and is a problem
	From   SourcePosition `json:"-"`
}

// Owner is whom a file belongs to: names, or IDs in decimal. root is always
// "0"; "" keeps the host's owner, and is root for a new file.
type Owner struct {
	User  string `json:"user,omitempty"`
	Group string `json:"group,omitempty"`
}

// Unit is a systemd unit.
type Unit struct {
	Name     string         `json:"name"`
	Contents string         `json:"contents,omitempty"` // "": the unit is not ours, only the fields below are
	Dropins  []Dropin       `json:"dropins,omitempty"`
	Enabled  *bool          `json:"enabled,omitempty"` // nil: not changed
	Masked   *bool          `json:"masked,omitempty"`  // nil: not changed
	From     SourcePosition `json:"-"`
}

// Dropin is a NAME.conf beside a unit.
type Dropin struct {
	Name     string `json:"name"`
	Contents string `json:"contents"`
}

// User is an account. Fields that are empty or nil are as the host has them.
type User struct {
	Name         string         `json:"name"`
	SSHKeys      []string       `json:"ssh_keys,omitempty"`
	PasswordHash string         `json:"password_hash,omitempty"` // as in shadow(5)
	Account      Account        `json:"account"`
	Retired      bool           `json:"-"` // of an observed account: holdfast has locked it
	From         SourcePosition `json:"-"`
}

// Account has the settings of a user for useradd(8).
type Account struct {
	Absent       bool     `json:"absent,omitempty"` // the user is not to be there
	UID          *int     `json:"uid,omitempty"`
	PrimaryGroup string   `json:"primary_group,omitempty"`
	Groups       []string `json:"groups,omitempty"` // supplementary ones
	Gecos        string   `json:"gecos,omitempty"`
	HomeDir      string   `json:"home_dir,omitempty"`
	Shell        string   `json:"shell,omitempty"`
	NoCreateHome bool     `json:"no_create_home,omitempty"`
	NoUserGroup  bool     `json:"no_user_group,omitempty"`
	NoLogInit    bool     `json:"no_log_init,omitempty"`
	System       bool     `json:"system,omitempty"`
}

// Group is a group of users.
type Group struct {
	Name         string         `json:"name"`
	Absent       bool           `json:"absent,omitempty"` // the group is not to be there
	GID          *int           `json:"gid,omitempty"`
	PasswordHash string         `json:"password_hash,omitempty"` // as in gshadow(5)
	System       bool           `json:"system,omitempty"`
	From         SourcePosition `json:"-"`
}

// Fixed is a setting that only an installation can make, such as a disk's
// partitions. A document may have it, but must not change it later.
type Fixed struct {
	Name   string         `json:"name"`   // setting and its object, if it has one: storage.disks /dev/sda, fips
	Digest string         `json:"digest"` // of the whole setting
	From   SourcePosition `json:"-"`
}

// SourcePosition is a position in the documents.
type SourcePosition struct {
	File   string // as the operator named it
	Line   int    // from 1; 0 if not known
	Column int    // from 1; 0 if not known
	Path   string // storage.files[3].mode
}

// String returns the known parts of FILE:LINE:COLUMN: PATH.
func (p SourcePosition) String() string {
	s := p.File
	if p.Line > 0 {
		s += fmt.Sprintf(":%d", p.Line)
		if p.Column > 0 {
			s += fmt.Sprintf(":%d", p.Column)
		}
	}
	if p.Path != "" {
		if s != "" {
			s += ": "
		}
		s += p.Path
	}
	return textutil.Printable(s)
}

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
