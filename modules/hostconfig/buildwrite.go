package hostconfig

import (
	"cmp"
	"strconv"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/engine/rules"
	"holdfast/modules/hostconfig/record"
)

// hostWrite is a write to a host by one script, which writes everything or
// nothing.
type hostWrite struct {
	owner engine.HoldOwner // the run that must hold the host
	quiet bool             // writes without a hold; nobody else may hold the host

	addsArgs  bool // the record must name kernel arguments before they are added
	probation bool // the host undoes the write unless a new login proves itself

	adopted engine.HoldOwner // whose hold does not prevent a quiet write; zero: none
	boot    resource.BootID  // boot ID in the plan; on another boot the script exits with ScriptChanged
	edits   []pathEdit       // in any order, see arrangeEdits
	groups  []groupEdit      // changed before users; users are changed before files
	users   []loginEdit
	units   []unitEdit                 // changed after files
	before  []byte                     // the record during the write: the old record, and the unfinished write
	failure func(action string) []byte // returns the record to write if this action fails
	after   []byte                     // the record after everything has taken effect
	acts    []rules.Action             // a quiet write carries them out in the same script
	data    map[string][]byte          // contents and password hashes that edits name, by digest
}

// pathEdit is the change of one path. Its mode, user and group are always set.
type pathEdit struct {
	pathState
	was         resource.PathFacts // state in the plan; if the path differs now, the script writes nothing at all
	about       string             // path that messages name: of the edit, or of the edit that needs this parent
	parent      bool               // a parent directory, which is created only if it is missing
	inherits    bool               // a file gets owner and mode of the file that it replaces
	save        bool               // keep the existing file as the original
	restore     bool               // the path is removed, and has an original to restore
	original    string             // name of the original
	source      string             // uploaded file with the contents, mode and owner of this path, see assignSources
	late        bool               // the same write creates the owner of this path, or changes its ID
	targetComes bool               // the same write has the target of this hard link
}

func (x *configDiff) buildWrite(t engine.Target) hostWrite {
	w := hostWrite{owner: t.Owner(), boot: x.boot, addsArgs: len(x.args.newArgs()) > 0, acts: scriptedActions(x.diff.Actions), data: map[string][]byte{}}
	x.accounts.addAccountEdits(changedSubjects(x.diff), t.Desired.Contents, &w)
	x.addNodeEdits(t.Desired, &w)
	x.units.addUnitEdits(&w)
	x.addPresetEdit(&w)
	x.addRecords(t, &w)
	return w
}

func (w hostWrite) isEmpty() bool {
	return len(w.edits) == 0 && len(w.groups) == 0 && len(w.users) == 0 && len(w.units) == 0 && !w.addsArgs
}

func (x *configDiff) addNodeEdits(d engine.Desired, w *hostWrite) {
	follows := x.entriesOfRenumbered(w.renumberedAccounts())
	for _, e := range x.entries {
		n := x.facts.Nodes[e.path]
		// A file or link that holdfast does not own is the host's original, which the script saves before it replaces it.
		isOriginal := !x.base.owned[e.path] && (n.Type == resource.PathFile || n.Type == resource.PathLink)
		matches := e.matchesHost(x.facts.Nodes) && !x.subjects.followingLinks[e.about] && !(x.base.hasRecord && isOriginal)
		if (matches || x.subjects.isReportOnly(e.about)) && !follows[e.path] {
			continue
		}
		edit := x.newEdit(e.pathState)
		edit.save = isOriginal && (x.base.hasRecord || !follows[e.path]) // a file from the provisioning has no original
		w.edits = append(w.edits, edit)
		if e.kind == resource.PathFile {
			w.data[e.data] = x.dataOf(d, e)
		}
	}
	x.addRemovals(w)
	for _, u := range x.want.Units {
		path := unitDir + u.Name
		if u.Masked != nil && !*u.Masked && u.Contents == "" && x.facts.Nodes[path].Target == maskTarget && !x.subjects.isReportOnly(subject{engine.UnitKind, u.Name}) {
			w.edits = append(w.edits, x.newEdit(pathState{path: path, mode: -1}))
		}
	}
}

func (x *configDiff) newEdit(want pathState) pathEdit {
	e := newPathEdit(want, x.facts.Nodes[want.path])
	e.original = cmp.Or(x.facts.OriginalNames[want.path], e.original)
	return e
}

// newPathEdit returns the change from one state of a path to another. Settings that
// the new state leaves open stay, or are those of root's new files.
func newPathEdit(want pathState, was resource.PathFacts) pathEdit {
	e := pathEdit{pathState: want, was: was, about: want.path, original: record.OriginalName(want.path)}
	same := was.Type == want.kind
	e.inherits = same && want.kind == resource.PathFile && want.mode < 0 && want.user == "" && want.group == ""
	if !same {
		was.Mode, was.UID, was.GID = 0o644, 0, 0
		if want.kind == resource.PathDirectory {
			was.Mode = 0o755
		}
	}
	if e.mode < 0 {
		e.mode = was.Mode
	}
	e.user, e.group = cmp.Or(e.user, strconv.Itoa(was.UID)), cmp.Or(e.group, strconv.Itoa(was.GID))
	return e
}

func (x *configDiff) dataOf(d engine.Desired, e desiredEntry) []byte {
	if e.about.domain == engine.UnitKind {
		return []byte(e.text)
	}
	if data, ok := x.contents[e.data]; ok {
		return data
	}
	return d.Contents[e.data]
}

// entriesOfRenumbered returns the paths that are as desired, and are written again because
// the ID of their owner changes, and the hard links to them.
func (x *configDiff) entriesOfRenumbered(a accountNames) map[string]bool {
	paths := map[string]bool{}
	for _, e := range x.entries {
		paths[e.path] = a.ownPath(e.pathState) && e.matchesHost(x.facts.Nodes)
	}
	for _, e := range x.entries {
		paths[e.path] = paths[e.path] || e.hard && paths[e.data]
	}
	return paths
}

// addRemovals adds the edits of paths that leave the configuration.
func (x *configDiff) addRemovals(w *hostWrite) {
	before := map[string]bool{}
	if x.facts.Applied != nil {
		before = setOf(x.facts.Applied.Existed)
	}
	for _, e := range x.leaving {
		n, saved := x.facts.Nodes[e.path], x.facts.Saved[e.path]
		existed := e.kind == resource.PathDirectory && before[e.path]
		back := unfinishedWrite(x.facts.Applied) != nil && !x.base.wasWritten(e) // an earlier write has restored the original, or has never replaced it
		if n.Type == resource.PathMissing && !saved || existed || back {
			continue
		}
		state := pathState{path: e.path, mode: -1}
		if rest, stays := x.texts.remainingContents(e); stays {
			state = w.remainderState(e.path, n, rest)
		}
		edit := x.newEdit(state)
		edit.restore = saved
		w.edits = append(w.edits, edit)
	}
}
