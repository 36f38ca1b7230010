package engine

import (
	"fmt"

	"holdfast/engine/textutil"
)

// Config is the desired configuration of one host: what its documents say,
// merged. engine/config reads it, engine/rules compares two of them. A compact
// one has digests instead of what is large or secret; see Compact. Lists are
// sorted by name or path, except KernelArgs, whose order matters. It holds
// secrets (file contents, password hashes): it is recorded on hosts, never
// printed.
type Config struct {
	OSImage         string      `json:"os_image,omitempty"`         // osImageURL of a MachineConfig
	ExtensionsImage string      `json:"extensions_image,omitempty"` // where extensions come from
	Extensions      []string    `json:"extensions,omitempty"`       // each once
	KernelType      string      `json:"kernel_type,omitempty"`      // default, realtime or 64k-pages; "" is default
	KernelArgs      []string    `json:"kernel_args,omitempty"`      // arguments to be there, in order, as often as they are named
	NoKernelArgs    []string    `json:"no_kernel_args,omitempty"`   // arguments not to be there
	Files           []File      `json:"files,omitempty"`
	Directories     []Directory `json:"directories,omitempty"`
	Links           []Link      `json:"links,omitempty"`
	Units           []Unit      `json:"units,omitempty"`
	Users           []User      `json:"users,omitempty"`
	Groups          []Group     `json:"groups,omitempty"`
	Fixed           []Fixed     `json:"fixed,omitempty"`
}

// File is a regular file. One that inherits has the contents of the host's
// file, or none.
type File struct {
	Path     string         `json:"path"`
	Contents []byte         `json:"contents,omitempty"` // decoded and decompressed
	Inherit  bool           `json:"inherit,omitempty"`  // Contents are the host's; only Append, mode and owner are ours
	Append   []byte         `json:"append,omitempty"`   // comes after the contents
	Digest   string         `json:"digest,omitempty"`   // of the contents, in a compact Config, where Contents are not
	Base     string         `json:"base,omitempty"`     // in a record, of a file that inherits: digest of what it had when holdfast first appended to it
	Mode     *int           `json:"mode,omitempty"`     // permission bits; nil only if it inherits: the host's, or 0644
	Owner    Owner          `json:"owner"`
	Keep     bool           `json:"keep,omitempty"` // overwrite = false: a file that holdfast did not write stays, and is a problem
	Sum      string         `json:"-"`              // Digest of the contents where they are here, too, and nothing is appended; "" if it was not taken
	From     SourcePosition `json:"-"`
}

// Directory is a directory; what is in it is its own business.
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
	Keep   bool           `json:"keep,omitempty"` // overwrite = false: what the host has in its place stays, and is a problem
	From   SourcePosition `json:"-"`
}

// Owner is whom a file belongs to: names, or IDs in decimal. root is always
// "0"; "" is as the host has it, or root.
type Owner struct {
	User  string `json:"user,omitempty"`
	Group string `json:"group,omitempty"`
}

// Unit is a systemd unit.
type Unit struct {
	Name     string         `json:"name"`
	Contents string         `json:"contents,omitempty"` // "": the unit is not ours, only what follows is
	Dropins  []Dropin       `json:"dropins,omitempty"`
	Enabled  *bool          `json:"enabled,omitempty"` // nil: as it is
	Masked   *bool          `json:"masked,omitempty"`  // nil: as it is
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
	Retired      bool           `json:"-"` // of an account as it was seen: holdfast has locked it
	From         SourcePosition `json:"-"`
}

// Account is what useradd(8) is told about a user.
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
// partitions. It may be there, but not change.
type Fixed struct {
	Name   string         `json:"name"`   // storage.disks, fips …, with what it is about: storage.disks /dev/sda
	Digest string         `json:"digest"` // of all it says
	From   SourcePosition `json:"-"`
}

// SourcePosition is where in the documents something is said.
type SourcePosition struct {
	File   string // as the operator named it
	Line   int    // from 1; 0 if not known
	Column int    // from 1; 0 if not known
	Path   string // storage.files[3].mode
}

// String gives the place as FILE:LINE:COLUMN: PATH, as far as it is known.
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
