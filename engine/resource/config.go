// Package resource has the resources of a host: its configuration, as documents
// demand it, as a host records it, and as probes observe it.
package resource

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"holdfast/engine/textutil"
)

// Config is the desired configuration of one host, merged from its documents.
// Package engine/config reads it, and package engine/rules compares two
// Configs. A compact Config has digests in place of contents and password
// hashes; see Compact. Lists are sorted by name or path, except KernelArgs,
// whose order matters. No output prints a Config, because it contains secrets.
type Config struct {
	OSImage         string      `json:"os_image,omitempty"`         // osImageURL of a MachineConfig
	ExtensionsImage string      `json:"extensions_image,omitempty"` // container image with the extensions
	Extensions      []string    `json:"extensions,omitempty"`       // names of extensions, each once
	KernelType      string      `json:"kernel_type,omitempty"`      // default, realtime or 64k-pages; "": no document sets it
	KernelArgs      []string    `json:"kernel_args,omitempty"`      // required arguments, in this order; a repeated argument is required that many times
	NoKernelArgs    []string    `json:"no_kernel_args,omitempty"`   // arguments that must be absent
	Files           []File      `json:"files,omitempty"`
	Directories     []Directory `json:"directories,omitempty"`
	Links           []Link      `json:"links,omitempty"`
	Units           []Unit      `json:"units,omitempty"`
	Users           []User      `json:"users,omitempty"`
	Groups          []Group     `json:"groups,omitempty"`
	Fixed           []Fixed     `json:"fixed,omitempty"`
}

// File is a regular file. With Inherit the contents of the host's file stay,
// and holdfast sets only Append, Mode and Owner. A missing file counts as
// empty.
type File struct {
	Path     string         `json:"path"`
	Contents []byte         `json:"contents,omitempty"` // decoded and decompressed
	Inherit  bool           `json:"inherit,omitempty"`  // the host's contents stay
	Append   []byte         `json:"append,omitempty"`   // appended to the contents
	Digest   string         `json:"digest,omitempty"`   // digest of Contents; a compact Config has it in place of Contents
	Base     string         `json:"base,omitempty"`     // in a record, with Inherit: digest of the host's contents when holdfast first appended to them
	Mode     *int           `json:"mode,omitempty"`     // permission bits; nil, only with Inherit: the mode of the host's file, or 0644 for a new file
	Owner    Owner          `json:"owner"`
	Keep     bool           `json:"keep,omitempty"` // overwrite = false: a file that holdfast did not write stays, and is reported as a problem
	Sum      string         `json:"-"`              // digest of Contents if they are set and Append is empty; "": not computed
	Observed ObservedPath   `json:"-"`              // what the host has at this path, if it differs; zero: it does not
	From     SourcePosition `json:"-"`
}

// Directory is a directory without its contents.
type Directory struct {
	Path  string         `json:"path"`
	Mode  *int           `json:"mode,omitempty"` // permission bits; nil: the mode of the host's directory, or 0755
	Owner Owner          `json:"owner"`
	From  SourcePosition `json:"-"`
}

// Link is a symbolic or hard link.
type Link struct {
	Path     string         `json:"path"`
	Target   string         `json:"target"`
	Hard     bool           `json:"hard,omitempty"`
	Owner    Owner          `json:"owner"`          // owner of a symbolic link itself
	Keep     bool           `json:"keep,omitempty"` // overwrite = false: a file or directory at that path stays, and is reported as a problem
	Observed ObservedPath   `json:"-"`              // what the host has at this path, if it differs; zero: it does not
	From     SourcePosition `json:"-"`
}

// Owner is the user and the group of a file: names, or decimal IDs. root is
// always "0". "" keeps the host's owner, and means root for a new file.
type Owner struct {
	User  string `json:"user,omitempty"`
	Group string `json:"group,omitempty"`
}

// Unit is a systemd unit.
type Unit struct {
	Name      string         `json:"name"`
	Contents  string         `json:"contents,omitempty"` // "": the unit belongs to the host, and only the fields below are set
	Dropins   []Dropin       `json:"dropins,omitempty"`
	Enabled   *bool          `json:"enabled,omitempty"`    // nil: holdfast does not change it
	Masked    *bool          `json:"masked,omitempty"`     // nil: holdfast does not change it
	IfPresent bool           `json:"if_present,omitempty"` // a host that does not have the unit need not enable it
	Observed  ObservedPath   `json:"-"`                    // what the host has at this path, if it differs; zero: it does not
	From      SourcePosition `json:"-"`
}

// Dropin is a drop-in file NAME.conf of a unit.
type Dropin struct {
	Name     string       `json:"name"`
	Contents string       `json:"contents"`
	Observed ObservedPath `json:"-"` // what the host has at this path, if it differs; zero: it does not
}

// ObservedPath is a path of a host where a configuration has a file or a link.
type ObservedPath struct {
	Type   PathType
	Digest string // of a regular file
	Target string // of a symbolic link
}

// User is an account. holdfast does not change fields that are empty or nil.
type User struct {
	Name         string         `json:"name"`
	SSHKeys      []string       `json:"ssh_keys,omitempty"`
	PasswordHash string         `json:"password_hash,omitempty"` // as in shadow(5)
	Account      Account        `json:"account"`
	Retired      bool           `json:"-"` // of an observed account: holdfast has locked the account
	ObservedHash string         `json:"-"` // password hash of a host that is not as in the document
	From         SourcePosition `json:"-"`
}

// Account has the settings of a user for useradd(8).
type Account struct {
	Absent       bool     `json:"absent,omitempty"` // the host must not have the user
	UID          *int     `json:"uid,omitempty"`
	PrimaryGroup string   `json:"primary_group,omitempty"`
	Groups       []string `json:"groups,omitempty"` // supplementary groups
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
	Absent       bool           `json:"absent,omitempty"` // the host must not have the group
	GID          *int           `json:"gid,omitempty"`
	PasswordHash string         `json:"password_hash,omitempty"` // as in gshadow(5)
	System       bool           `json:"system,omitempty"`
	From         SourcePosition `json:"-"`
}

// Fixed is a setting that only an installation can make, such as the partitions
// of a disk. A document may contain it, and no later version of the document
// may change it.
type Fixed struct {
	Name   string         `json:"name"`   // name of the setting, with its object if it has one: storage.disks /dev/sda, fips
	Digest string         `json:"digest"` // digest of the whole setting
	From   SourcePosition `json:"-"`
}

// SourcePosition is a position in the documents.
type SourcePosition struct {
	File   string // path as the operator wrote it
	Line   int    // from 1; 0 if not known
	Column int    // from 1; 0 if not known
	Path   string // path inside the document: storage.files[3].mode
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

// Digest returns the SHA-256 of data in hexadecimal. Contents are named by it.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// registriesConf is the only file whose old contents a rule depends on.
const registriesConf = "/etc/containers/registries.conf"

// Compact returns the configuration with digests in place of file contents and
// password hashes, and a map from these digests to the contents. The
// configuration keeps contents that a rule reads, and text that is appended to
// a file of the host.
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
				whole = slices.Concat(f.Contents, f.Append)
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

// isDigest returns false for a password hash, which never is 64 hexadecimal digits.
func isDigest(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && len(s) == hex.EncodedLen(sha256.Size)
}

// DemandsFIPS reports whether a host must run in FIPS mode, which only an installation can set.
func (c Config) DemandsFIPS() bool {
	return slices.ContainsFunc(c.Fixed, Fixed.IsFIPS)
}

// IsFIPS reports whether a setting is FIPS mode.
func (f Fixed) IsFIPS() bool { return f.Name == "fips" }

// OwnPaths returns the paths of the files, directories and links of a configuration.
func (c Config) OwnPaths() []string {
	var list []string
	for _, f := range c.Files {
		list = append(list, f.Path)
	}
	for _, d := range c.Directories {
		list = append(list, d.Path)
	}
	for _, k := range c.Links {
		list = append(list, k.Path)
	}
	return list
}
