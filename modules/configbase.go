package modules

import (
	"slices"

	"holdfast/engine"
	"holdfast/engine/rules"
)

// base finds out what the host has from holdfast. A boot after an unfinished
// write has taken all of that into effect; what it should have removed and did
// not is still there to be removed. Without such a boot, the record holds, and
// what the write may have made beside is to be undone.
func (x *configDiff) base(want engine.Config) {
	a := x.seen.Applied
	if a == nil {
		x.was = want
		return
	}
	x.recorded, x.was = true, x.asFound(onlyConfig(a.Config))
	u := a.Unfinished
	if u == nil {
		x.own(x.was)
		return
	}
	x.ours = setOf(u.Ours)
	x.was = written(x.was, x.has)
	next := written(x.asFound(onlyConfig(u.Config)), x.has)
	x.own(x.was)
	x.own(next)
	if u.Boot != x.boot {
		before := map[subject]bool{}
		for _, e := range entriesOf(x.was) {
			before[e.about] = true
		}
		next = written(next, func(e entry) bool { return !before[e.about] || e.fits(x.seen.Nodes) })
		there := func(e entry) bool { return x.seen.Nodes[e.edit.path].Type != engine.NoNode }
		x.was = written(joined(next, x.was, x.has), there)
		return
	}
	wanted := map[subject]bool{}
	for _, e := range entriesOf(want) {
		wanted[e.about] = true
	}
	x.was = joined(x.was, next, func(e entry) bool { return x.has(e) && !wanted[e.about] })
	for _, name := range u.Touched {
		x.redo[name] = true
	}
}

// own notes paths as holdfast's.
func (x *configDiff) own(c engine.Config) {
	for _, e := range entriesOf(c) {
		x.mine[e.edit.path] = true
	}
}

// written is of a configuration what was written, and not taken away again.
// What the host has otherwise in these places is its own.
func written(next engine.Config, has func(entry) bool) engine.Config {
	ours := map[subject]bool{}
	for _, e := range entriesOf(next) {
		ours[e.about] = ours[e.about] || has(e)
	}
	units := map[subject]bool{} // that have no files
	for _, u := range next.Units {
		units[subject{rules.Unit, u.Name}] = len(unitEntries(u)) == 0
	}
	return leavingOut(next, func(s subject) bool { return !ours[s] && !units[s] })
}

// has reports whether an entry was written and not removed again: the host has
// it as it is asked for, or the original in its place is still kept, or the
// path was holdfast's before and did not get back an original.
func (x *configDiff) has(e entry) bool {
	return e.fits(x.seen.Nodes) || x.seen.Saved[e.edit.path] || x.ours[e.edit.path]
}

func setOf(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, s := range list {
		set[s] = true
	}
	return set
}

// joined is first, and of second what it has not, if that is on the host.
func joined(first, second engine.Config, has func(entry) bool) engine.Config {
	there := map[string]bool{}
	for _, e := range entriesOf(first) {
		there[e.edit.path] = true
	}
	whole := map[subject]bool{} // what of second is on the host, and not of first
	for _, e := range entriesOf(second) {
		if !there[e.edit.path] && has(e) {
			whole[e.about] = true
		}
	}
	first.Files = adding(first.Files, second.Files, func(f engine.File) bool { return whole[subject{rules.File, f.Path}] })
	first.Directories = adding(first.Directories, second.Directories, func(d engine.Directory) bool { return whole[subject{rules.Directory, d.Path}] })
	first.Links = adding(first.Links, second.Links, func(l engine.Link) bool { return whole[subject{rules.Link, l.Path}] })
	names := map[string]bool{}
	for _, u := range first.Units {
		names[u.Name] = true
	}
	first.Units = adding(first.Units, second.Units, func(u engine.Unit) bool { return whole[subject{rules.Unit, u.Name}] && !names[u.Name] })
	users := map[string]bool{}
	for _, u := range first.Users {
		users[u.Name] = true
	}
	first.Users = adding(first.Users, second.Users, func(u engine.User) bool { return !users[u.Name] })
	return first
}

func adding[T any](list, more []T, take func(T) bool) []T {
	list = slices.Clone(list)
	for _, m := range more {
		if take(m) {
			list = append(list, m)
		}
	}
	return list
}
