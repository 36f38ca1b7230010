package filediff

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/sourcegraph/conc/pool"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/report/planview"
	"holdfast/engine/resource"
	"holdfast/engine/textutil"
)

// Limits of the files that are read from hosts to show them.
const (
	maxHostFiles = 40 // files of one host
	maxSiteFiles = 1000
)

// wantedContents is the desired content of a file that a plan changes.
type wantedContents struct {
	path string
	data []byte // nil: the file is removed
	mode int    // -1: unknown
	why  string // reason why it is not shown; "": it is shown
}

// Source is the input of a comparison: the state of the hosts, and a way to read
// files from them.
type Source struct {
	Facts     map[string]engine.Facts
	Desired   map[string]engine.Desired
	Sensitive []string // texts that are not shown
	Forks     int      // hosts that are read from at the same time
	Run       func(ctx context.Context, host string, commands []engine.Command) (engine.Outputs, error)
}

// PlanContents returns the old and new contents of the files that a plan or
// drift changes. If a file is secret, binary or large, it returns the reason
// why the contents are not shown. It reads the files of each host in one more
// round trip.
func (s Source) PlanContents(ctx context.Context, plan engine.Plan) ([]planview.Contents, error) {
	var changes textutil.Groups[string, engine.Change]
	for _, hp := range plan.Hosts {
		changes.Add(hp.Host, hp.Changes...)
	}
	for _, d := range plan.Drift {
		changes.Add(d.Host, d.Changes...)
	}
	found := make([][]planview.Contents, len(changes.Keys()))
	left := maxSiteFiles
	workers := pool.New().WithMaxGoroutines(s.Forks)
	for i, name := range changes.Keys() {
		facts := s.Facts[name]
		files := wantedFiles(s.Desired[name], facts, changes.Of(name))
		if len(files) == 0 || facts.Config == nil {
			continue
		}
		most := min(maxHostFiles, left)
		for j := range files {
			if j >= most && files[j].why == "" {
				files[j].why = "one of too many; --limit shows fewer hosts"
			}
		}
		left -= min(most, len(files))
		workers.Go(func() { found[i] = s.contentsOf(ctx, facts, files) })
	}
	workers.Wait()
	return slices.Concat(found...), ctx.Err()
}

func wantedFiles(d engine.Desired, f engine.Facts, changes []engine.Change) []wantedContents {
	if d.Config == nil || f.Config == nil {
		return nil
	}
	var list []wantedContents
	for _, c := range changes {
		switch {
		case c.Module != engine.ConfigModule:
		case c.Kind == engine.FileKind:
			if w, ok := wantedFile(d, f, c.Name()); ok {
				list = append(list, w)
			}
		case c.Kind == engine.UnitKind:
			list = append(list, wantedUnit(d, c.Name())...)
		}
	}
	return list
}

// wantedFile returns false if the host puts back its original, whose content is unknown here.
func wantedFile(d engine.Desired, f engine.Facts, path string) (wantedContents, bool) {
	i := slices.IndexFunc(d.Config.Files, func(file resource.File) bool { return file.Path == path })
	if i < 0 {
		return wantedContents{path: path, mode: -1}, !f.Config.Saved[path]
	}
	file := d.Config.Files[i]
	w := wantedContents{path: path, data: d.Contents[file.Digest], mode: -1}
	if file.Mode != nil {
		w.mode = *file.Mode
	}
	if file.Inherit {
		w.why = "only appended to, or keeps its contents"
	}
	return w, true
}

func wantedUnit(d engine.Desired, name string) []wantedContents {
	var list []wantedContents
	for _, u := range d.Config.Units {
		if u.Name != name {
			continue
		}
		const dir = "/etc/systemd/system/"
		if u.Contents != "" {
			list = append(list, wantedContents{path: dir + name, data: []byte(u.Contents), mode: -1})
		}
		for _, drop := range u.Dropins {
			list = append(list, wantedContents{path: dir + name + ".d/" + drop.Name, data: []byte(drop.Contents), mode: -1})
		}
	}
	return list
}

func (s Source) contentsOf(ctx context.Context, f engine.Facts, files []wantedContents) []planview.Contents {
	var list []planview.Contents
	var read []engine.Command
	for _, w := range files {
		node := f.Config.Nodes[w.path]
		if node.Type == resource.PathFile && node.Digest == resource.Digest(w.data) {
			continue // only mode or owner change
		}
		c := planview.Contents{Host: f.Host, Path: w.path, New: w.data}
		switch {
		case node.Type == resource.PathFile:
			c.Withheld = cmp.Or(w.why, planview.WithholdReason(w.data, w.mode, s.Sensitive), planview.WithholdReason(nil, node.Mode, nil))
		case node.Type == resource.PathMissing:
			c.Withheld = cmp.Or(w.why, planview.WithholdReason(w.data, w.mode, s.Sensitive))
		default:
			c.Withheld = "in the place of something that is no file"
		}
		if c.Withheld == "" && node.Type == resource.PathFile {
			read = append(read, readCommand(w.path))
		}
		list = append(list, c)
	}
	var outputs engine.Outputs
	var err error
	if len(read) > 0 {
		outputs, err = s.Run(ctx, f.Host, read)
	}
	for i := range list {
		node := f.Config.Nodes[list[i].Path]
		if list[i].Withheld != "" || node.Type != resource.PathFile {
			continue
		}
		old := []byte(outputs[list[i].Path].Stdout)
		switch {
		case err != nil:
			list[i].Withheld = "not read: " + err.Error()
		case len(old) > planview.MaxContents:
			list[i].Withheld = planview.WithholdReason(old, -1, nil)
		case resource.Digest(old) != node.Digest: // the file has changed since the facts were gathered
			list[i].Withheld = "changed since it was read"
		default:
			list[i].Old, list[i].Withheld = old, planview.WithholdReason(old, node.Mode, s.Sensitive)
		}
	}
	return list
}

// readCommand returns a command that reads a file on a host. The command
// follows no link, does not block, and reads at most one byte more than is
// shown. The file may have changed since the facts were gathered, so the caller
// must compare the digest of the output with the facts.
func readCommand(path string) engine.Command {
	return engine.Command{Name: path, Script: fmt.Sprintf("timeout 10 dd if=%s bs=%d count=1 iflag=nofollow,nonblock,fullblock status=none",
		hostscript.Quote(path), planview.MaxContents+1)}
}
