package hostconfig

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/engine/rules"
	"holdfast/modules/hostconfig/record"
)

func (x *configDiff) buildWrite(t engine.Target) hostWrite {
	w := hostWrite{owner: t.Owner(), boot: x.boot, data: map[string][]byte{}}
	before, after := x.buildRecords(t)
	w.before, w.after = record.Encode(before), record.Encode(after)
	w.addsArgs = len(x.args.newArgs()) > 0
	failures := map[string][]byte{}
	w.failure = func(action string) []byte {
		if failures[action] == nil {
			u := *before.Unfinished
			u.Failed = action
			failed := before
			failed.Unfinished = &u
			failures[action] = record.Encode(failed)
		}
		return failures[action]
	}
	x.accounts.addAccountEdits(x.diff.Changes, t.Desired.Contents, &w)
	x.addNodeEdits(t.Desired, &w)
	x.units.addUnitEdits(&w)
	return w
}

func (w hostWrite) isEmpty() bool {
	return len(w.edits) == 0 && len(w.groups) == 0 && len(w.users) == 0 && len(w.units) == 0 && !w.addsArgs
}

func (x *configDiff) buildRecords(t engine.Target) (before, after resource.Record) {
	before = resource.Record{Schema: resource.RecordSchema, Accounts: x.accounts.origins, Joined: x.accounts.joinedDuringWrite(), AddedArgs: x.args.argsDuringWrite()}
	switch a := x.facts.Applied; {
	case a == nil:
		before.Config = x.matchingConfig()
	case a.Unfinished != nil && hasTakenEffect(a.Unfinished, x.boot):
		before.Config, before.Existed = WithoutOSSettings(x.was), a.Existed
		before.Config.KernelArgs = sortedSet(slices.Concat(a.Config.KernelArgs, a.Unfinished.Config.KernelArgs))
	default:
		before.Config, before.Existed = a.Config, a.Existed
	}
	existed := setOf(before.Existed)
	before.Existed = slices.Clone(before.Existed)
	for _, e := range x.entries {
		known := existed[e.path] || x.base.owned[e.path]
		if e.kind == resource.PathDirectory && x.facts.Nodes[e.path].Type == resource.PathDirectory && !known {
			before.Existed = append(before.Existed, e.path)
		}
	}
	slices.Sort(before.Existed)
	// The record of the unfinished write also has the resources that this write removes. If this write is interrupted, too,
	// the next one must find them there.
	u := &resource.UnfinishedWrite{Run: t.Run, Boot: x.boot, Config: x.base.joinConfigs(x.resolvedConfig(), x.was, func(desiredEntry) bool { return true })}
	for _, c := range x.diff.Changes {
		u.Touched = append(u.Touched, subject{c.Kind, c.Name}.String())
	}
	for name := range x.subjects.notInEffect {
		u.Touched = append(u.Touched, name)
	}
	slices.Sort(u.Touched)
	u.Touched = slices.Compact(u.Touched)
	u.SoftIsEnough = x.isSoftEnough()
	u.Ours, u.Restarts = x.remainingOwned(), dueRestarts(t)
	if earlier := unfinishedWrite(x.facts.Applied); earlier != nil {
		known := append(slices.Clone(earlier.Appended), earlier.Config.Files...)
		u.Appended = dropMatching(known, func(f resource.File) bool { return !f.Inherit })
		slices.SortFunc(u.Appended, func(a, b resource.File) int {
			return cmp.Or(strings.Compare(a.Path, b.Path), bytes.Compare(a.Append, b.Append))
		})
		u.Appended = slices.CompactFunc(u.Appended, func(a, b resource.File) bool { return a.Path == b.Path && bytes.Equal(a.Append, b.Append) })
	}
	before.Unfinished = u
	return before, resource.Record{Schema: resource.RecordSchema, Config: x.resolvedConfig(), Existed: before.Existed, Accounts: x.accounts.originsAfter(), Joined: x.accounts.joinedAfterWrite(), AddedArgs: x.args.argsAfterWrite()}
}

// isSoftEnough reports whether a soft reboot brings the changes of this write, and
// those of earlier writes that are not in effect, into effect.
func (x *configDiff) isSoftEnough() bool {
	if u := unfinishedWrite(x.facts.Applied); u != nil && !hasTakenEffect(u, x.boot) && (!u.SoftIsEnough || u.Failed != "") {
		return false
	}
	if len(x.args.newArgs()) > 0 || !slices.Equal(x.args.argsDuringWrite(), x.args.argsAfterWrite()) {
		return false
	}
	return !slices.ContainsFunc(x.diff.Changes, func(c rules.Change) bool {
		reboots := slices.ContainsFunc(c.Actions, func(a engine.Action) bool { return a.Type == engine.RebootAction })
		return reboots && rules.FindRebootClass(c.Class).Least != engine.SoftReboot
	})
}

func (x *configDiff) remainingOwned() []string {
	returning := map[string]bool{}
	for _, e := range x.leaving {
		returning[e.path] = x.facts.Saved[e.path]
	}
	var paths []string
	for p := range x.base.owned {
		if !returning[p] {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}

// matchingConfig returns the desired configuration without kernel arguments and
// without the resources in which the host differs from it. On a host without a
// record, this part is recorded before the write.
func (x *configDiff) matchingConfig() resource.Config {
	differs := map[subject]bool{}
	for _, c := range x.diff.Changes {
		differs[subject{c.Kind, c.Name}] = true
	}
	c := dropSubjects(x.resolvedConfig(), func(s subject) bool { return differs[s] })
	c.KernelArgs, c.NoKernelArgs = nil, nil
	c.Users = dropMatching(c.Users, func(u resource.User) bool { return differs[subject{engine.UserKind, u.Name}] })
	c.Groups = dropMatching(c.Groups, func(g resource.Group) bool { return differs[subject{engine.GroupKind, g.Name}] })
	return c
}

func (x *configDiff) addNodeEdits(d engine.Desired, w *hostWrite) {
	follows := x.entriesOfRenumbered(w.renumberedAccounts())
	for _, e := range x.entries {
		n := x.facts.Nodes[e.path]
		edit := x.newEdit(e.pathState)
		// A file or link that holdfast does not own is the host's original, which the script saves before it replaces it.
		edit.save = !x.base.owned[e.path] && (n.Type == resource.PathFile || n.Type == resource.PathLink)
		if follows[e.path] && !x.base.hasRecord {
			edit.save = false // it comes from the provisioning, and has no original
		}
		if !follows[e.path] && (e.matchesHost(x.facts.Nodes) && !x.subjects.followingLinks[e.about] && !(x.base.hasRecord && edit.save) || x.subjects.isReportOnly(e.about)) {
			continue
		}
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

func (x *configDiff) newEdit(want pathState) pathEdit {
	e := newPathEdit(want, x.facts.Nodes[want.path])
	e.original = x.facts.OriginalNames[want.path]
	return e
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
			state.kind, state.mode, state.data = resource.PathFile, n.Mode, resource.Digest(rest)
			state.user, state.group = strconv.Itoa(n.UID), strconv.Itoa(n.GID)
			w.data[state.data] = rest
		}
		edit := x.newEdit(state)
		edit.restore = saved
		w.edits = append(w.edits, edit)
	}
}

func (x *configDiff) dataOf(d engine.Desired, e desiredEntry) []byte {
	if e.write != nil {
		return e.write()
	}
	if data, ok := x.contents[e.data]; ok {
		return data
	}
	return d.Contents[e.data]
}

func (x *configDiff) resolvedConfig() resource.Config {
	c := x.desired
	c.Files = x.want.Files
	return c
}
