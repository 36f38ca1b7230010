package hostconfig

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/engine/rules"
	"holdfast/modules/hostconfig/record"
)

// addRecords adds the records before and after the write, and those of failed actions.
func (x *configDiff) addRecords(t engine.Target, w *hostWrite) {
	before, after := x.buildRecords(t)
	w.before, w.after = record.Encode(before), record.Encode(after)
	failures := map[string][]byte{}
	w.failure = func(action string) []byte {
		if failures[action] == nil {
			u := *before.Unfinished
			u.FailedAction = action
			failed := before
			failed.Unfinished = &u
			failures[action] = record.Encode(failed)
		}
		return failures[action]
	}
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
	u.Touched = sortedSet(append(u.Touched, x.base.touched...))
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

func (s subject) String() string { return string(s.domain) + " " + s.name }

func (x *configDiff) resolvedConfig() resource.Config {
	c := x.desired
	c.Files = x.want.Files
	return c
}

// firstRecord returns the record of a host that has none and gets no write now. It has no account that is still to be made.
func (x *configDiff) firstRecord() resource.Record {
	before, _ := x.buildRecords(engine.Target{})
	before.Unfinished, before.Joined = nil, nil
	maps.DeleteFunc(before.Accounts, func(_ string, o resource.AccountOrigin) bool { return o == resource.MadeAccount })
	return before
}

// matchingConfig returns the desired configuration without kernel arguments and
// without the resources in which the host differs from it. On a host without a
// record, this part is recorded before the write.
func (x *configDiff) matchingConfig() resource.Config {
	differs := changedSubjects(x.diff)
	c := dropSubjects(x.resolvedConfig(), func(s subject) bool { return differs[s] })
	c.KernelArgs, c.NoKernelArgs = nil, nil
	c.Users = dropMatching(c.Users, func(u resource.User) bool { return differs[subject{engine.UserKind, u.Name}] })
	c.Groups = dropMatching(c.Groups, func(g resource.Group) bool { return differs[subject{engine.GroupKind, g.Name}] })
	return c
}

func (x *configDiff) remainingOwned() []string {
	owned := maps.Clone(x.base.owned)
	for _, e := range x.leaving {
		if x.facts.Saved[e.path] {
			delete(owned, e.path)
		}
	}
	return slices.Sorted(maps.Keys(owned))
}

// isSoftEnough reports whether a soft reboot brings the changes of this write, and
// those of earlier writes that are not in effect, into effect.
func (x *configDiff) isSoftEnough() bool {
	if u := unfinishedWrite(x.facts.Applied); u != nil && !hasTakenEffect(u, x.boot) && (!u.SoftIsEnough || u.FailedAction != "") {
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

// dueRestarts returns the services of the host that must restart after a write, and the boots of these writes.
func dueRestarts(t engine.Target) map[string]resource.BootID {
	boot, earlier := t.Facts.BootID, recordedRestarts(t.Facts)
	due := map[string]resource.BootID{}
	for _, s := range t.Facts.Survivors {
		switch before, known := earlier[s.Unit]; {
		case known && boot.SharesKernel(before):
			due[s.Unit] = before
		case slices.Contains(t.Restarts, s.Unit):
			due[s.Unit] = boot
		}
	}
	return due
}

// lacksRestarts reports whether the record of the host does not have all services that must restart after a write.
func lacksRestarts(t engine.Target) bool {
	recorded := recordedRestarts(t.Facts)
	for unit, boot := range dueRestarts(t) {
		if recorded[unit] != boot {
			return true
		}
	}
	return false
}

func recordedRestarts(f engine.Facts) map[string]resource.BootID {
	if f.Config == nil || unfinishedWrite(f.Config.Applied) == nil {
		return nil
	}
	return f.Config.Applied.Unfinished.Restarts
}
