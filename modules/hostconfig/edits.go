package hostconfig

import (
	"holdfast/engine"
	"holdfast/engine/rules"
)

// hostWrite is everything that one script writes to a host, wholly or not at
// all.
type hostWrite struct {
	owner   engine.HoldOwner // the run that must hold the host
	quiet   bool             // without a hold: nobody else may hold the host
	boot    string           // planned boot ID: with another one the script exits with ScriptChanged
	edits   []pathEdit       // parents before their contents; deletions last, in reverse order
	groups  []groupEdit      // before users, as users are before files
	users   []loginEdit
	units   []unitEdit                 // after the files
	before  []byte                     // applied.json during the write: the old record, and the unfinished write
	failure func(action string) []byte // returns applied.json for the case that this action fails
	after   []byte                     // applied.json after all has taken effect
	acts    []rules.Action             // done by the same script, if quiet
	data    map[string][]byte          // by digest: contents and password hashes that edits name
}

// pathEdit is the change of one path.
type pathEdit struct {
	path        string
	was         engine.PathFacts // at the time of the plan; if it differs now, nothing at all is written
	kind        engine.PathType  // the new type; NoNode: remove it, or restore its original
	hard        bool             // a hard link
	mode        int              // permission bits; -1: unchanged, or 0644, or 0755 for a directory
	user, group string           // names or decimal IDs; "": unchanged, or root
	data        string           // of a file: digest of its contents; of a link: its target
	save        bool             // keep the existing file as the original
	restore     bool             // when removed: an original is kept
}

// groupEdit creates, changes or removes a group.
type groupEdit struct {
	want   engine.Group // PasswordHash is the digest of the hash, which is in data
	exists bool
	leaves bool // it is no longer desired, so only its password changes
	keep   bool // the hash that it has now is kept as the original
	back   bool // the hash that it had before holdfast is put back
	lock   bool // no password is to be let in
}

// loginEdit creates, changes or removes an account with its password and SSH
// keys.
type loginEdit struct {
	want     engine.User   // PasswordHash is the digest of the hash, which is in data
	was      *engine.Login // nil: the account does not exist
	account  bool          // create it, change it to want.Account, or remove it
	password bool          // set want.PasswordHash; if "", lock the password
	keep     bool          // the hash that it has now is kept as the original
	back     bool          // instead, restore the hash from before holdfast
	keys     bool          // make want.SSHKeys the SSH keys that holdfast manages; if empty, remove them
	retire   bool          // it leaves, and holdfast created it: lock it
	revive   bool          // it was retired, and is desired again
}

// unitEdit changes whether a unit is started at boot.
type unitEdit struct {
	name    string
	enabled bool   // it is now
	do      string // enable, disable or preset
	early   bool   // before the files change: a unit is disabled before it is removed
}
