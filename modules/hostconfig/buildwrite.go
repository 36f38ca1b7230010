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
	before, after := x.buildRecords(t.Run)
	w.before, w.after = record.Encode(before), record.Encode(after)
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
	x.addNodeEdits(t.Desired, &w)
	x.addAccountEdits(t.Desired, &w)
	x.addUnitEdits(&w)
	return w
}

func (w hostWrite) isEmpty() bool {
	return len(w.edits) == 0 && len(w.groups) == 0 && len(w.users) == 0 && len(w.units) == 0
}

func (x *configDiff) buildRecords(run string) (before, after resource.Record) {
	before = resource.Record{Schema: resource.RecordSchema, Accounts: x.origins}
	switch a := x.facts.Applied; {
	case a == nil:
		before.Config = x.matchingConfig()
	case a.Unfinished != nil && a.Unfinished.Boot != x.boot: // the host has booted since, so everything that was written is in effect
		before.Config, before.Existed = WithoutOSSettings(x.was), a.Existed
		before.Config.KernelArgs = sortedSet(slices.Concat(a.Config.KernelArgs, a.Unfinished.Config.KernelArgs))
	default:
		before.Config, before.Existed = a.Config, a.Existed
	}
	existed := setOf(before.Existed)
	before.Existed = slices.Clone(before.Existed)
	for _, e := range x.entries {
		known := existed[e.edit.path] || x.owned[e.edit.path]
		if e.edit.kind == resource.PathDirectory && x.facts.Nodes[e.edit.path].Type == resource.PathDirectory && !known {
			before.Existed = append(before.Existed, e.edit.path)
		}
	}
	slices.Sort(before.Existed)
	// The record of the unfinished write also has the resources that this write removes. If this write is interrupted, too,
	// the next one must find them there.
	u := &resource.UnfinishedWrite{Run: run, Boot: x.boot, Config: x.joinConfigs(x.resolvedConfig(), x.was, func(desiredEntry) bool { return true })}
	for _, c := range x.diff.Changes {
		u.Touched = append(u.Touched, subject{c.Domain, c.Name}.String())
	}
	for name := range x.notInEffect {
		u.Touched = append(u.Touched, name)
	}
	slices.Sort(u.Touched)
	u.Touched = slices.Compact(u.Touched)
	u.Ours = x.remainingOwned()
	if earlier := x.unfinishedWrite(); earlier != nil {
		known := append(slices.Clone(earlier.Appended), earlier.Config.Files...)
		u.Appended = dropMatching(known, func(f resource.File) bool { return !f.Inherit })
		slices.SortFunc(u.Appended, func(a, b resource.File) int {
			return cmp.Or(strings.Compare(a.Path, b.Path), bytes.Compare(a.Append, b.Append))
		})
		u.Appended = slices.CompactFunc(u.Appended, func(a, b resource.File) bool { return a.Path == b.Path && bytes.Equal(a.Append, b.Append) })
	}
	before.Unfinished = u
	return before, resource.Record{Schema: resource.RecordSchema, Config: x.resolvedConfig(), Existed: before.Existed, Accounts: x.originsAfter()}
}

func (x *configDiff) remainingOwned() []string {
	returning := map[string]bool{}
	for _, e := range x.leaving {
		returning[e.edit.path] = x.facts.Saved[e.edit.path]
	}
	var paths []string
	for p := range x.owned {
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
		differs[subject{c.Domain, c.Name}] = true
	}
	c := dropSubjects(x.resolvedConfig(), func(s subject) bool { return differs[s] })
	c.KernelArgs, c.NoKernelArgs = nil, nil
	c.Users = dropMatching(c.Users, func(u resource.User) bool { return differs[subject{rules.User, u.Name}] })
	c.Groups = dropMatching(c.Groups, func(g resource.Group) bool { return differs[subject{rules.User, rules.GroupName(g.Name)}] })
	return c
}

func dropSubjects(c resource.Config, drop func(subject) bool) resource.Config {
	c.Files = dropMatching(c.Files, func(f resource.File) bool { return drop(subject{rules.File, f.Path}) })
	c.Directories = dropMatching(c.Directories, func(d resource.Directory) bool { return drop(subject{rules.Directory, d.Path}) })
	c.Links = dropMatching(c.Links, func(l resource.Link) bool { return drop(subject{rules.Link, l.Path}) })
	c.Units = dropMatching(c.Units, func(u resource.Unit) bool { return drop(subject{rules.Unit, u.Name}) })
	return c
}

func dropMatching[T any](list []T, drop func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), drop)
}

func (x *configDiff) addNodeEdits(d engine.Desired, w *hostWrite) {
	for _, e := range x.entries {
		n := x.facts.Nodes[e.edit.path]
		// A file or link that holdfast does not own is the host's original, which the script saves before it replaces it.
		e.edit.was, e.edit.save = n, !x.owned[e.edit.path] && (n.Type == resource.PathFile || n.Type == resource.PathLink)
		original := x.hasRecord && e.edit.save
		if e.matchesHost(x.facts.Nodes) && !x.followingLinks[e.about] && !original || x.isReportOnly(e.about) {
			continue
		}
		w.edits = append(w.edits, e.edit)
		if e.edit.kind == resource.PathFile {
			w.data[e.edit.data] = x.dataOf(d, e)
		}
	}
	before := map[string]bool{}
	if x.facts.Applied != nil {
		before = setOf(x.facts.Applied.Existed)
	}
	for _, e := range x.leaving {
		n, saved := x.facts.Nodes[e.edit.path], x.facts.Saved[e.edit.path]
		existed := e.edit.kind == resource.PathDirectory && before[e.edit.path]
		back := x.unfinishedWrite() != nil && !x.wasWritten(e) // an earlier write has restored the original, or has never replaced it
		if n.Type == resource.PathMissing && !saved || existed || back {
			continue
		}
		leaves := pathEdit{path: e.edit.path, was: n, mode: -1, restore: saved}
		if rest, stays := x.remainingContents(e); stays {
			leaves.kind, leaves.mode, leaves.data = resource.PathFile, n.Mode, resource.Digest(rest)
			leaves.user, leaves.group = strconv.Itoa(n.UID), strconv.Itoa(n.GID)
			w.data[leaves.data] = rest
		}
		w.edits = append(w.edits, leaves)
	}
	for _, u := range x.want.Units {
		path := unitDir + u.Name
		n := x.facts.Nodes[path]
		if u.Masked != nil && !*u.Masked && u.Contents == "" && n.Target == maskTarget && !x.isReportOnly(subject{rules.Unit, u.Name}) {
			w.edits = append(w.edits, pathEdit{path: path, was: n, mode: -1})
		}
	}
}

func (x *configDiff) dataOf(d engine.Desired, e desiredEntry) []byte {
	if e.write != nil {
		return e.write()
	}
	if data, ok := x.contents[e.edit.data]; ok {
		return data
	}
	return d.Contents[e.edit.data]
}
