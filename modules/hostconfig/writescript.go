package hostconfig

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/resource"
	"holdfast/modules/shell"
)

// buildScript returns the script of the whole write, with its uploads. If the
// write fails, the script changes nothing, and exits with ScriptHeld,
// ScriptChanged, ScriptNoSpace or ScriptCannot. If it cannot undo the write, it
// exits with ScriptHalfDone. If everything is written but an action fails, it
// exits with ScriptActionFailed.
func (w hostWrite) buildScript() engine.Exec {
	uploads, edits, accounts := w.listUploads(), w.arrangeEdits(), newAccountList(w)
	stats, digests, targets := expectedOutput(edits)
	restores := slices.ContainsFunc(edits, func(e pathEdit) bool { return e.kind == resource.PathFile && e.restore })
	ending, probation := "remove_write_files\n", ""
	if w.probation {
		probation = strconv.Itoa(int(probationTime / time.Second))
	} else if w.quiet {
		ending = w.closingLines()
	}
	s := shell.Script{
		Vars: map[string]string{
			"run": w.owner.Run, "doing": "write", "root": "",
			"statistics": stats, "digests": digests, "targets": targets,
			"hasaccounts": yesIf(accounts.any), "hasrests": yesIf(restores), "probation": probation,
		},
		Boot: w.boot,
		Job:  engine.Script{{Text: keysText}},
		Text: engine.Script{
			{Text: writeFunctionsText},
			{Values: shellCalls(edits) + accounts.shellFunctions() + unitFunctions(w.units) + hostscript.Assign([][2]string{{"sums", sumLines(uploads)}})},
			{Text: writeText},
			{Values: ending},
		},
	}
	return engine.Exec{Script: shell.BuildStrict(w.holdCheck(), s), Uploads: uploads}
}

func (w hostWrite) holdCheck() engine.Script {
	if w.quiet {
		return hostscript.CheckFreeSnippet(w.owner, w.adopted)
	}
	return hostscript.CheckHoldSnippet(w.owner)
}

func (w hostWrite) listUploads() []engine.Upload {
	var list []engine.Upload
	add := func(name string, data []byte) { list = append(list, engine.Upload{Name: name, Data: data}) }
	for digest, data := range w.data {
		add(digest, data)
	}
	add("before", w.before)
	if w.quiet && !w.probation {
		list = append(list, w.closingUploads()...)
	}
	for i, u := range w.users {
		if !u.keys {
			continue
		}
		add("keys-"+strconv.Itoa(i), joinLines(u.want.SSHKeys))
		if u.was != nil {
			add("oldkeys-"+strconv.Itoa(i), joinLines(u.was.Keys))
		}
	}
	slices.SortFunc(list, func(a, b engine.Upload) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func joinLines(list []string) []byte {
	var b strings.Builder
	for _, s := range list {
		b.WriteString(s + "\n")
	}
	return []byte(b.String())
}

// sumLines returns the input of sha256sum -c for the uploads.
func sumLines(uploads []engine.Upload) string {
	var b strings.Builder
	for _, u := range uploads {
		b.WriteString(resource.Digest(u.Data) + "  " + u.Name + "\n")
	}
	return b.String()
}

func (e pathEdit) ownerText() string { return e.user + ":" + e.group }

// expectedOutput returns the output of print_stats, print_file_digests and
// print_link_targets on a host that has not changed since the plan.
func expectedOutput(edits []pathEdit) (stats, digests, targets string) {
	var s, d, t []string
	for _, e := range edits {
		switch e.was.Type {
		case resource.PathFile:
			d = append(d, e.was.Digest+"  ."+e.path)
		case resource.PathLink:
			t = append(t, e.was.Target)
		case resource.PathDirectory:
		case resource.PathMissing, resource.PathOther:
			continue
		}
		s = append(s, formatStat(e.was))
	}
	slices.Sort(d)
	return strings.Join(s, "\n"), strings.Join(d, "\n"), strings.TrimRight(strings.Join(t, "\n"), "\n")
}

// shellCalls returns the shell function for_each_edit, which calls a function once for
// each edit.
func shellCalls(edits []pathEdit) string {
	var b strings.Builder
	b.WriteString("for_each_edit() {\nentered=''\n")
	for i, e := range edits {
		b.WriteString(e.shellCall(i))
	}
	return b.String() + "}\n"
}

// shellCall sets the variables of an edit, which checkedits.sh lists, and calls the
// function that for_each_edit was given.
func (e pathEdit) shellCall(n int) string {
	var target, targetDir, targetName, inode string
	if e.kind == resource.PathLink {
		target = e.data
	}
	if e.hard {
		targetDir, targetName = dirOf(e.data), path.Base(e.data)
	}
	if e.was.Type == resource.PathDirectory {
		inode = e.was.Inode
	}
	vars := [][2]string{
		{"n", strconv.Itoa(n)},
		{"kind", e.kindWord()},
		{"about", e.about},
		{"path", e.path},
		{"dir", dirOf(e.path)},
		{"name", path.Base(e.path)},
		{"fresh", e.kindWord() + "-" + strconv.Itoa(n)},
		{"source", e.source},
		{"data", target},
		{"targetdir", targetDir},
		{"targetname", targetName},
		{"targetcomes", yesIf(e.targetComes)},
		{"mode", formatMode(e.mode)},
		{"owner", e.ownerText()},
		{"late", yesIf(e.late)},
		{"inherits", yesIf(e.inherits)},
		{"was", cmp.Or(string(e.was.Type), "none")},
		{"wasstat", formatStat(e.was)},
		{"wasmode", formatMode(e.was.Mode)},
		{"wasdata", e.was.Digest + e.was.Target},
		{"inode", inode},
		{"save", yesIf(e.save)},
		{"restore", yesIf(e.restore)},
		{"orig", e.original},
	}
	words := make([]string, len(vars))
	for i, v := range vars {
		words[i] = v[0] + "=" + hostscript.Quote(v[1])
	}
	return strings.Join(words, " ") + "\n\"$1\"\n"
}

func (e pathEdit) kindWord() string {
	switch {
	case e.parent:
		return "parent"
	case e.hard:
		return "hard"
	case e.kind == resource.PathMissing:
		return "gone"
	}
	return string(e.kind)
}

func dirOf(p string) string { return strings.TrimSuffix(path.Dir(p), "/") }

func formatMode(mode int) string { return fmt.Sprintf("%05o", mode) }

func formatStat(n resource.PathFacts) string {
	kinds := map[resource.PathType]int{resource.PathFile: 0o100000, resource.PathDirectory: 0o040000, resource.PathLink: 0o120000}
	mode := n.Mode
	if n.Type == resource.PathLink {
		mode = 0o777
	}
	return fmt.Sprintf("%x %d %d", kinds[n.Type]|mode, n.UID, n.GID)
}

func yesIf(is bool) string {
	if is {
		return "yes"
	}
	return ""
}
