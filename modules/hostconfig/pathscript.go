package hostconfig

import (
	"slices"
	"strings"

	"holdfast/engine/hostscript"
	"holdfast/engine/resource"
)

// expectedStats, expectedDigests and expectedTargets return the output of the
// shell functions present, files and links on a host that has not changed since
// the plan.
func (l listing) expectedStats() string {
	return l.joinPresent(func(n resource.PathFacts) string { return formatStat(n) }, resource.PathFile, resource.PathDirectory, resource.PathLink)
}

func (l listing) expectedDigests() string {
	var list []string
	for _, it := range l.presentItems(resource.PathFile) {
		list = append(list, it.was.Digest+"  ."+it.path)
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

func (l listing) expectedTargets() string {
	return l.joinPresent(func(n resource.PathFacts) string { return n.Target }, resource.PathLink)
}

func (l listing) joinPresent(of func(resource.PathFacts) string, types ...resource.PathType) string {
	var list []string
	for _, it := range l.presentItems(types...) {
		list = append(list, of(it.was))
	}
	return strings.TrimRight(strings.Join(list, "\n"), "\n")
}

func (l listing) shellFunctions() string {
	paths := func(types ...resource.PathType) []string {
		var list []string
		for _, it := range l.presentItems(types...) {
			list = append(list, it.path)
		}
		return list
	}
	files := map[string]bool{}
	var calls strings.Builder
	for _, it := range l.items {
		files[it.path] = it.kind == resource.PathFile
	}
	for i, it := range l.items {
		calls.WriteString(it.shellCall(i, files))
	}
	was := paths(resource.PathFile, resource.PathLink)
	return "edits() {\nspot=''\n" + calls.String() + "}\n" +
		absentFunction(paths(resource.PathMissing)) +
		printFunction("present", `"$root"%s\\0`, paths(resource.PathFile, resource.PathDirectory, resource.PathLink)) +
		printFunction("files", `.%s\\n`, paths(resource.PathFile)) +
		printFunction("links", `"$root"%s\\0`, paths(resource.PathLink)) +
		printFunction("changing", `.%s\\n`, was) +
		printFunction("keeping", `.%s\\0`, l.collectWords(func(it listedEdit) (string, bool) { return it.path, it.save && it.was.Type == resource.PathFile })) +
		printFunction("places", `%s\\0`, l.collectWords(func(it listedEdit) (string, bool) { return it.path, true })) +
		printFunction("grounds", `%s\\n`, l.parentDirs()) +
		l.directoriesFunction() + l.namesFunction() + l.sourcesFunction()
}

func absentFunction(list []string) string {
	return "absent() {\nfor file in" + quoteWords(list) + "; do ! found \"$root$file\" || return 1; done\n}\n"
}

func printFunction(name, format string, list []string) string {
	if len(list) == 0 {
		return name + "() { :; }\n"
	}
	return name + "() {\nprintf " + format + quoteWords(list) + "\n}\n"
}

func quoteWords(list []string) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteString(" " + hostscript.Quote(s))
	}
	return b.String()
}

func (l listing) directoriesFunction() string {
	var list []string
	for _, it := range l.items {
		list = append(list, dirOf(it.path))
		if it.kind == resource.PathDirectory {
			list = append(list, it.path)
		}
	}
	slices.Sort(list)
	return "directories() {\nfor dir in" + quoteWords(slices.Compact(list)) +
		"; do if [ -d \"$root$dir/\" ]; then printf \"$root\"%s/\\\\0 \"$dir\"; fi; done\n}\n"
}

func (l listing) parentDirs() []string {
	var list []string
	for _, it := range l.items {
		list = append(list, dirOf(it.path))
		if it.hard {
			list = append(list, dirOf(it.data))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// namesFunction returns the shell function names. It fails if a named user or
// group is missing, unless the same write creates it.
func (l listing) namesFunction() string {
	var b strings.Builder
	seen := map[string]bool{}
	demand := func(base, word, name, about string) {
		if strings.Trim(name, "0123456789") == "" || seen[word+name] {
			return
		}
		seen[word+name] = true
		b.WriteString("getent " + base + " -- " + hostscript.Quote(name) + " >/dev/null || problem " + hostscript.Quote(about+": there is no "+word+" "+name) + "\n")
	}
	for _, it := range l.items {
		if it.parent || it.late || it.hard || it.kind == resource.PathMissing {
			continue
		}
		demand("passwd", "user", it.user, it.path)
		demand("group", "group", it.group, it.path)
	}
	return "names() {\n:\n" + b.String() + "}\n"
}

// sourcesFunction returns the shell function sources, which sets the owners and
// modes of the uploaded files. It sets modes last, because a change of the owner
// clears setuid bits.
func (l listing) sourcesFunction() string {
	const most = 500 // most words of one command
	var lines []string
	for _, c := range l.copies {
		lines = append(lines, "cp "+c[0]+" "+c[1])
	}
	group := func(command string, of func(listedEdit) string) {
		by := map[string][]string{}
		for _, it := range l.items {
			if it.kind == resource.PathFile && of(it) != "" {
				by[of(it)] = append(by[of(it)], it.source)
			}
		}
		keys := make([]string, 0, len(by))
		for k := range by {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			slices.Sort(by[k])
			for list := range slices.Chunk(slices.Compact(by[k]), most) {
				lines = append(lines, command+" "+hostscript.Quote(k)+quoteWords(list))
			}
		}
	}
	group("owned", func(it listedEdit) string {
		if it.late {
			return ""
		}
		return it.owner
	})
	group("chmod", func(it listedEdit) string { return formatMode(it.mode) })
	return "sources() {\nsaid=$({\ncd \"$tx/new\"" + strings.Join(append([]string{""}, lines...), " &&\n") + "\n} 2>&1)\n}\n"
}
