package moduletest

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"holdfast/engine"
	"holdfast/engine/longtest"
)

// runs holds results of scripts by script and files of the host. A script starts dozens of
// processes, and most tests begin with the same scripts as other tests, on hosts in the same state.
var runs sync.Map

// savedRun is the result of a script. The first test with this script and these files has run the
// script.
type savedRun struct {
	once  sync.Once
	saved bool // false: each test must run the script
	out   engine.Output
	log   string // lines that the script adds to the log of the fakes
	files hostFiles
}

// hostFiles are all files of a host except the log, by their paths below its
// root.
type hostFiles map[string]hostFile

type hostFile struct {
	mode fs.FileMode
	text string // contents of a file or target of a link, see blankOut
}

// Run executes a script in which absolute paths are replaced by paths in the box. By default the
// same script runs only once on hosts with the same files. Later calls repeat its output, its log
// and its changes of files. With HOLDFAST_LONG=1 each call runs the script.
func (b *Box) Run(script string) engine.Output {
	b.T.Helper()
	if longtest.On() {
		return b.executeScript(script)
	}
	before, simple := b.readFiles()
	if !simple {
		return b.executeScript(script)
	}
	found, _ := runs.LoadOrStore(before.runKey(b.blankOut(script)), new(savedRun))
	run, isFirst, out := found.(*savedRun), false, engine.Output{}
	run.once.Do(func() { isFirst, out = true, b.executeAndSave(script, run) })
	if isFirst {
		return out
	}
	if !run.saved {
		return b.executeScript(script)
	}
	b.appendLog(b.fillIn(run.log))
	b.changeFiles(before, run.files)
	return engine.Output{Stdout: b.fillIn(run.out.Stdout), Stderr: b.fillIn(run.out.Stderr), Code: run.out.Code}
}

func (b *Box) executeAndSave(script string, run *savedRun) engine.Output {
	b.T.Helper()
	logged := b.Log()
	out := b.executeScript(script)
	after, simple := b.readFiles()
	if simple {
		run.out = engine.Output{Stdout: b.blankOut(out.Stdout), Stderr: b.blankOut(out.Stderr), Code: out.Code}
		run.log, run.files, run.saved = b.blankOut(strings.TrimPrefix(b.Log(), logged)), after, true
	}
	return out
}

func (b *Box) appendLog(lines string) {
	b.T.Helper()
	log, err := os.OpenFile(filepath.Join(b.Root, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	b.Check(err)
	_, err = log.WriteString(lines)
	b.Check(err)
	b.Check(log.Close())
}

// rootBlank and clockBlank stand for the root of the host and the present time,
// in seconds, in saved texts.
const rootBlank, clockBlank = "\x00root", "\x00clock"

var lockTime = regexp.MustCompile(`, since [-0-9T:]+Z`) // the time in a lock, which no script reads

func (b *Box) blankOut(text string) string {
	text = strings.ReplaceAll(text, b.Root, rootBlank)
	if len(text) > 64<<10 { // no text with the time is as long
		return text
	}
	var blank strings.Builder
	for line := range strings.Lines(text) { // a regular expression would take ten times as long
		if bare := strings.TrimSuffix(line, "\n"); isNow(bare) {
			line = clockBlank + line[len(bare):]
		}
		blank.WriteString(line)
	}
	return blank.String()
}

// isNow reports whether a text is a Unix time of the last or the next hour.
func isNow(text string) bool {
	if len(text) != len("1700000000") {
		return false
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	return err == nil && time.Since(time.Unix(seconds, 0)).Abs() <= time.Hour
}

func (b *Box) fillIn(text string) string {
	return strings.NewReplacer(rootBlank, b.Root, clockBlank, strconv.FormatInt(time.Now().Unix(), 10)).Replace(text)
}

// readFiles returns the files of the host. simple reports whether changeFiles can create all of
// them: it cannot create pipes, sockets and files with several names.
func (b *Box) readFiles() (files hostFiles, simple bool) {
	b.T.Helper()
	files, simple = hostFiles{}, true
	b.Check(filepath.WalkDir(b.Root, func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, b.Root)
		if err != nil || name == "/log" {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, hasOneName := "", true
		switch {
		case info.Mode().IsRegular():
			hasOneName = info.Sys().(*syscall.Stat_t).Nlink == 1
			var data []byte
			data, err = os.ReadFile(path)
			text = string(data)
		case info.Mode()&fs.ModeSymlink != 0:
			text, err = os.Readlink(path)
		default:
			simple = simple && info.IsDir()
		}
		simple = simple && hasOneName
		files[name] = hostFile{info.Mode(), b.blankOut(text)}
		return err
	}))
	return files, simple
}

func (files hostFiles) runKey(script string) [sha256.Size]byte {
	key := sha256.New()
	fmt.Fprintf(key, "%d %s", len(script), script)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := lockTime.ReplaceAllString(files[name].text, "")
		fmt.Fprintf(key, "\x00%s %d %d %s", name, files[name].mode, len(text), text)
	}
	return [sha256.Size]byte(key.Sum(nil))
}

// changeFiles changes the files of the host from before to after, parents first. It does not touch
// files that stay the same.
func (b *Box) changeFiles(before, after hostFiles) {
	b.T.Helper()
	for name, old := range before {
		if next, stays := after[name]; !stays || next.mode.Type() != old.mode.Type() {
			b.Check(os.RemoveAll(filepath.Join(b.Root, name)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		next, path := after[name], filepath.Join(b.Root, name)
		if old, exists := before[name]; exists && old == next {
			continue
		}
		switch {
		case next.mode.IsDir():
			b.Check(os.MkdirAll(path, 0o755))
		case next.mode.IsRegular():
			b.Check(os.WriteFile(path, []byte(b.fillIn(next.text)), 0o600))
		default:
			_ = os.Remove(path) // the link may exist, with another target
			b.Check(os.Symlink(b.fillIn(next.text), path))
			continue
		}
		b.Check(os.Chmod(path, next.mode))
	}
}
