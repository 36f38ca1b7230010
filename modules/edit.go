package modules

import (
	"holdfast/engine"
	"holdfast/engine/rules"
)

// hostWrite is everything that is to be written to a host, in one transaction.
type hostWrite struct {
	owner   engine.HoldOwner // whose hold is demanded, and whose run the transaction belongs to
	quiet   bool             // without a hold: the host must be held by nobody, or by a run in holders
	boot    string           // boot ID as planned: another one ends the script with ScriptChanged
	edits   []pathEdit       // parents before what is in them; what goes comes last, and what is in a directory before it
	groups  []groupEdit      // before users, as users are before files
	users   []loginEdit
	units   []unitEdit                 // after the files
	before  []byte                     // applied.json while it is under way: the old record, and what is unfinished
	failure func(action string) []byte // gives applied.json once that action has failed
	after   []byte                     // applied.json when all has taken effect
	acts    []rules.Action             // carried out by the same script, if quiet
	data    map[string][]byte          // by digest: contents and password hashes that edits name
}

// pathEdit is one entry of the file system that is to change.
type pathEdit struct {
	path        string
	was         engine.Node     // as the plan saw it; if it is not that any more, nothing at all is written
	kind        engine.NodeType // what it is to be; NoNode: it goes, or its original comes back
	hard        bool            // a link is a hard one
	mode        int             // permission bits; -1: as it is, or 0644, or 0755 for a directory
	user, group string          // names or IDs in decimal; "": as it is, or root
	data        string          // of a file: digest of its contents; of a link: its target
	save        bool            // what is there is kept as the original, to come back one day
	restore     bool            // of one that goes: an original is kept
}

// newGroupEdit makes, changes or removes a group.
type groupEdit struct {
	want   engine.Group // PasswordHash is the digest of the hash, which is in data
	exists bool
	leaves bool // only its password changes: it is not desired any more
	keep   bool // the hash that it has now is kept as the original
	back   bool // the hash that it had before holdfast is put back
	lock   bool // no password is to be let in
}

// newLoginEdit makes, changes or removes an account, and sets what logs it in.
type loginEdit struct {
	want     engine.User   // PasswordHash is the digest of the hash, which is in data
	was      *engine.Login // nil: there is no such account
	account  bool          // make it, change it as want.Account says, or remove it
	password bool          // set want.PasswordHash; if that is "", no password is to be let in
	keep     bool          // the hash that it has now is kept as the original
	back     bool          // instead of that, the hash that it had before holdfast is put back
	keys     bool          // want.SSHKeys are its SSH keys kept by holdfast; none of them: remove
	retire   bool          // it leaves, and holdfast made it: lock it
	revive   bool          // it was locked so, and is desired again
}

// unitEdit changes whether a unit is started at boot.
type unitEdit struct {
	name    string
	enabled bool   // it is now
	do      string // enable, disable or preset
	early   bool   // before the files are changed: a unit that goes is disabled while it is there
}
