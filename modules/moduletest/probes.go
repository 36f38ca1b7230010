package moduletest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"holdfast/engine"
	"holdfast/engine/longtest"
)

// probes holds the results of probes by their script and the files of the host. A probe takes fifteen processes and most
// tests make several, mostly of hosts in a state that another test has made, too.
var probes sync.Map

type probeResult struct {
	out engine.Output
	log string // lines that the probe adds to the log of the fakes
}

// runProbe runs a script that only reads, or returns what it has printed on a host with the same files. With
// HOLDFAST_LONG=1 it always runs.
func (b *Box) runProbe(script string) engine.Output {
	b.T.Helper()
	if longtest.On() {
		return b.Run(script)
	}
	before := b.listContents()
	if known, ok := probes.Load(script + before); ok {
		p := known.(probeResult)
		log, err := os.OpenFile(filepath.Join(b.Root, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		b.Check(err)
		_, err = log.WriteString(b.fillIn(p.log))
		b.Check(err)
		b.Check(log.Close())
		return engine.Output{Stdout: b.fillIn(p.out.Stdout), Stderr: b.fillIn(p.out.Stderr), Code: p.out.Code}
	}
	logged := b.Log()
	out := b.Run(script)
	if b.listContents() == before { // it has only read
		probes.Store(script+before, probeResult{
			out: engine.Output{Stdout: b.blankOut(out.Stdout), Stderr: b.blankOut(out.Stderr), Code: out.Code},
			log: b.blankOut(strings.TrimPrefix(b.Log(), logged)),
		})
	}
	return out
}

// Names in stored texts for the root of the host and for the present time in seconds.
const rootBlank, clockBlank = "\x00root", "\x00clock"

var (
	clockLine = regexp.MustCompile(`(?m)^\d{10}$`)
	lockTime  = regexp.MustCompile(`, since [-0-9T:]+Z`) // in a lock, which no probe reads
)

// blankOut replaces the root of the host and the present time in a text.
func (b *Box) blankOut(text string) string {
	text = strings.ReplaceAll(text, b.Root, rootBlank)
	return clockLine.ReplaceAllStringFunc(text, func(line string) string {
		if seconds, err := strconv.ParseInt(line, 10, 64); err != nil || time.Since(time.Unix(seconds, 0)).Abs() > time.Hour {
			return line
		}
		return clockBlank
	})
}

func (b *Box) fillIn(text string) string {
	return strings.NewReplacer(rootBlank, b.Root, clockBlank, strconv.FormatInt(time.Now().Unix(), 10)).Replace(text)
}

func (b *Box) listContents() string {
	b.T.Helper()
	var list strings.Builder
	b.Check(filepath.WalkDir(b.Root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == filepath.Join(b.Root, "log") {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		contents := ""
		switch {
		case info.Mode().IsRegular():
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			contents = string(text)
		case info.Mode()&fs.ModeSymlink != 0:
			if contents, err = os.Readlink(path); err != nil {
				return err
			}
		}
		fmt.Fprintf(&list, "\x00%s %v %q", path, info.Mode(), contents)
		return nil
	}))
	return lockTime.ReplaceAllString(b.blankOut(list.String()), "")
}
