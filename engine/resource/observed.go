package resource

// ConfigFacts is the observed state of every path, unit, user and group that the
// desired, the recorded or the unfinished configuration names.
type ConfigFacts struct {
	Applied   *Record              `json:"applied,omitempty"`    // nil: the host has no record
	Problem   string               `json:"problem,omitempty"`    // why nothing may be written: the record cannot be read, or a tool is missing
	Nodes     map[string]PathFacts `json:"nodes,omitempty"`      // state by path; PathMissing where nothing exists
	Saved     map[string]bool      `json:"saved,omitempty"`      // paths whose originals are kept
	Units     map[string]string    `json:"units,omitempty"`      // output of systemctl is-enabled, by unit
	Users     map[string]Login     `json:"users,omitempty"`      // accounts that exist, by name
	Groups    map[string]int       `json:"groups,omitempty"`     // GIDs of the groups that exist, by name
	KeyDir    bool                 `json:"key_dir,omitempty"`    // sshd reads ~/.ssh/authorized_keys.d, so holdfast writes SSH keys there
	LoginHome string               `json:"login_home,omitempty"` // home of the account that holdfast logs in with
	Links     map[string]string    `json:"links,omitempty"`      // symbolic links among the parent directories of Nodes, and their targets, without OSLinks
	OSLinks   Links                `json:"os_links,omitempty"`   // links of the OS, which scripts follow
	Blocked   map[string]string    `json:"blocked,omitempty"`    // paths below something that is no directory, and its path
	Fleeting  []string             `json:"fleeting,omitempty"`   // parent directories of Nodes that a reboot empties

	FIPS bool `json:"fips,omitempty"` // the kernel runs in FIPS mode; only probed if a configuration demands it

	ReadOnly      map[string]string `json:"read_only,omitempty"`      // paths whose nearest existing directory cannot be written to, and this directory
	OriginalNames map[string]string `json:"original_names,omitempty"` // names of the originals of paths in Saved, if another spelling of the path gave the name
}

// PathFacts is an entry of a host's file system.
type PathFacts struct {
	Type     PathType `json:"type"`
	Digest   string   `json:"digest,omitempty"` // SHA-256 of a file, hexadecimal; "large" for a file of 100 MB or more
	Target   string   `json:"target,omitempty"` // target of a symbolic link
	Mode     int      `json:"mode"`             // permission bits, with setuid, setgid and sticky
	UID      int      `json:"uid"`
	GID      int      `json:"gid"`
	User     string   `json:"user,omitempty"` // names; IDs where the host has no name for them
	Group    string   `json:"group,omitempty"`
	Inode    string   `json:"inode,omitempty"` // device and inode; hard links of one file have the same
	Contents []byte   `json:"-"`               // contents of the few files on which a plan depends
	Base     []byte   `json:"-"`               // original of a file to which text is appended, if the host keeps it
}

// PathType is the kind of an entry of a file system.
type PathType string

// The kinds of entries.
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
	Group    string   `json:"group,omitempty"`  // primary group
	Groups   []string `json:"groups,omitempty"` // supplementary groups
	Gecos    string   `json:"gecos,omitempty"`
	Home     string   `json:"home,omitempty"`
	Shell    string   `json:"shell,omitempty"`
	Password string   `json:"password,omitempty"` // Digest of the password hash in shadow
	Keys     []string `json:"keys,omitempty"`     // SSH keys that holdfast or Ignition keeps there, one per line
	Expires  string   `json:"expires,omitempty"`  // day of its expiry as in shadow; "": never
	Connects bool     `json:"connects,omitempty"` // holdfast logs in with this account
	Busy     bool     `json:"busy,omitempty"`     // the account has processes

	// OtherKeys and Sessions count the other SSH keys and the sessions of the
	// account. They are only counted for the account that holdfast logs in
	// with, and for accounts that the configuration no longer has.
	OtherKeys int `json:"other_keys,omitempty"`
	Sessions  int `json:"sessions,omitempty"`
}

// RetiredExpiry is the expiry day of an account that holdfast has locked: the
// first day after 1970-01-01 that shadow understands.
const RetiredExpiry = "1"

// Retired reports whether the account is locked in the way that holdfast locks
// accounts.
func (l Login) Retired() bool { return l.Expires == RetiredExpiry }
