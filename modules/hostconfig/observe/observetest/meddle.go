package observetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"holdfast/engine/hostscript"
)

// Meddlers are actions of an account in $D, a directory that everybody can write
// to. They try to make root read or write $S, which belongs to root. Each runs
// right before a program that root runs.
var Meddlers = map[string]string{
	// A temporary directory of the write becomes a link that leads elsewhere.
	"rooms": `for r in $D/.holdfast-*; do [ -e $r ] || continue; mv $r $D/away; ln -s $S $r; done`,
	// Names that the write might choose exist already, as links.
	"guess": `for f in changed.conf new.conf original.conf; do ln -s $S/$f $D/.holdfast-$(printf %s /srv/app/$f | sha256sum | cut -c1-16); done`,
	// The directory becomes a link that leads elsewhere.
	"directory": `mv $D $D.away; ln -s $S $D`,
	"parent":    `mv $D $D.away; mkdir $D; for f in $D.away/*; do ln -s $S/${f##*/} $D; done`,
	"names":     `for f in $D/*; do rm -rf $f; ln -s $S/${f##*/} $f; done`,
	"pipes":     `for f in $D/*; do rm -rf $f; mkfifo $f; done`,
	"room":      `for r in $D/.holdfast-*; do [ -d $r ] || continue; mv $r $D/away; mkdir -m 0777 $r; for f in $D/away/*; do ln -s $S/new.conf $r/${f##*/}; done; done`,
	"swap":      `mv $D/dir $D/other; mv $D/root $D/dir`,
}

// MeddledTools are the programs that use paths.
var MeddledTools = []string{"cp", "ln", "mv", "mkdir", "chown", "chmod", "rm", "rmdir", "dd", "tar", "head", "sha256sum", "stat", "readlink", "sync"}

// Meddling is an action of an account during a script of root.
type Meddling struct {
	How    string // key of Meddlers
	Before int    // the action happens directly before this call of a program of MeddledTools, counted from 1
}

// Prepare writes fake tools that count their calls and run the action. The programs of a pipeline
// may run at the same time. Only one program runs the action, among those that read a count of at
// least Before.
func (m Meddling) Prepare(t *testing.T, root string, write func(path, text string)) {
	t.Helper()
	write("/attack", strings.NewReplacer("$D", root+"/srv/app", "$S", root+"/root").Replace(Meddlers[m.How])+"\n")
	write("/count", "")
	dir := hostscript.Quote(root)
	for _, tool := range MeddledTools {
		write("/meddled/"+tool, "#!/bin/sh\nprintf x >>"+dir+"/count\nread -r n <"+dir+"/count || :\n"+
			"if [ ${#n} -ge "+strconv.Itoa(m.Before)+" ] && [ ! -e "+dir+"/acted ] && (set -C; : >"+dir+"/acted) 2>/dev/null; then\n"+
			"	PATH=/usr/bin:/bin sh "+dir+"/attack 2>/dev/null\nfi\nexec "+ToolPath(t, tool)+" \"$@\"\n")
	}
}

// CountPrograms returns how many programs of MeddledTools the script has run.
func CountPrograms(t *testing.T, root string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "count"))
	if err != nil {
		t.Fatal(err)
	}
	return len(text)
}

// ToolPath returns the path of a program on this machine.
func ToolPath(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Secret is the text in files of root that no other account may read.
const Secret = "the secret of root"
