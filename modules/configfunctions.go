package modules

import (
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/hostscript"
)

// statistics, digests and targets are what the host prints, if it is as
// planned, about what the functions present, files and links list.
func (l listing) statistics() string {
	return l.join(func(n engine.Node) string { return stat(n) }, engine.FileNode, engine.DirectoryNode, engine.LinkNode)
}

func (l listing) digests() string {
	var list []string
	for _, it := range l.present(engine.FileNode) {
		list = append(list, it.was.Digest+"  ."+it.path)
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

func (l listing) targets() string {
	return l.join(func(n engine.Node) string { return n.Target }, engine.LinkNode)
}

func (l listing) join(of func(engine.Node) string, types ...engine.NodeType) string {
	var list []string
	for _, it := range l.present(types...) {
		list = append(list, of(it.was))
	}
	return strings.TrimRight(strings.Join(list, "\n"), "\n")
}

// functions gives the shell functions that know what changes.
func (l listing) functions() string {
	paths := func(types ...engine.NodeType) []string {
		var list []string
		for _, it := range l.present(types...) {
			list = append(list, it.path)
		}
		return list
	}
	files := map[string]bool{}
	var calls strings.Builder
	for _, it := range l.items {
		files[it.path] = it.kind == engine.FileNode
	}
	for i, it := range l.items {
		calls.WriteString(it.call(i, files))
	}
	was := paths(engine.FileNode, engine.LinkNode)
	return "edits() {\nspot=''\n" + calls.String() + "}\n" +
		"absent() {\nfor file in" + words(paths(engine.NoNode)) + "; do ! found \"$root$file\" || return 1; done\n}\n" +
		printing("present", `"$root"%s\\0`, paths(engine.FileNode, engine.DirectoryNode, engine.LinkNode)) +
		printing("files", `.%s\\n`, paths(engine.FileNode)) +
		printing("links", `"$root"%s\\0`, paths(engine.LinkNode)) +
		printing("changing", `.%s\\n`, was) +
		printing("keeping", `.%s\\0`, l.some(func(it item) (string, bool) { return it.path, it.save && it.was.Type == engine.FileNode })) +
		printing("places", `%s\\0`, l.some(func(it item) (string, bool) { return it.path, true })) +
		printing("grounds", `%s\\n`, l.grounds()) +
		l.touched() + l.names() + l.copying()
}

// printing gives a function that prints words, each as the format says.
func printing(name, format string, list []string) string {
	if len(list) == 0 {
		return name + "() { :; }\n"
	}
	return name + "() {\nprintf " + format + words(list) + "\n}\n"
}

func words(list []string) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteString(" " + hostscript.Quote(s))
	}
	return b.String()
}

// touched gives the function that prints the directories in which something
// has changed, those that are there.
func (l listing) touched() string {
	var list []string
	for _, it := range l.items {
		list = append(list, dirOf(it.path))
		if it.kind == engine.DirectoryNode {
			list = append(list, it.path)
		}
	}
	slices.Sort(list)
	return "directories() {\nfor dir in" + words(slices.Compact(list)) +
		"; do if [ -d \"$root$dir/\" ]; then printf \"$root\"%s/\\\\0 \"$dir\"; fi; done\n}\n"
}

// grounds are the directories in which something may be made.
func (l listing) grounds() []string {
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

// names gives the function that demands the users and groups that are named
// and not made by the same transaction.
func (l listing) names() string {
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
		if it.parent || it.late || it.hard || it.kind == engine.NoNode {
			continue
		}
		demand("passwd", "user", it.user, it.path)
		demand("group", "group", it.group, it.path)
	}
	return "names() {\n:\n" + b.String() + "}\n"
}

// copying gives the function that gives what was sent its modes and owners.
// Changing the owner takes setuid bits away, so modes come last.
func (l listing) copying() string {
	const most = 500 // words of a command
	var lines []string
	for _, c := range l.copies {
		lines = append(lines, "cp "+c[0]+" "+c[1])
	}
	group := func(command string, of func(item) string) {
		by := map[string][]string{}
		for _, it := range l.items {
			if it.kind == engine.FileNode && of(it) != "" {
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
				lines = append(lines, command+" "+hostscript.Quote(k)+words(list))
			}
		}
	}
	group("owned", func(it item) string {
		if it.late {
			return ""
		}
		return it.owner
	})
	group("chmod", func(it item) string { return octal(it.mode) })
	return "sources() {\nsaid=$({\ncd \"$tx/new\"" + strings.Join(append([]string{""}, lines...), " &&\n") + "\n} 2>&1)\n}\n"
}
