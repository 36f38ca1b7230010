package config

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"holdfast/engine/config/syntax"
)

// maxLocalFiles is the maximum number of files in the trees of a Butane
// document.
const maxLocalFiles = 100_000

// maxLocalBytes is the maximum size of the local files of a Butane document in
// bytes. The library needs many times as much memory.
const maxLocalBytes = syntax.MaxDocument

// localsFit reports whether the local files of a Butane document are within the
// limits. The library reads local files completely, even devices.
func (l *loader) localsFit(d *document) bool {
	c := localFiles{loader: l, d: d, dir: l.folderOf(d)}
	visitLocals(d.source, nil, c.countLocal)
	d.localBytes = c.bytes
	return !c.hasError
}

// folderOf returns the folder of the document's local files, in the loader's file
// system.
func (l *loader) folderOf(d *document) string {
	return path.Clean(strings.TrimPrefix(strings.TrimPrefix(d.dir, strings.TrimSuffix(l.src.Root, "/")), "/"))
}

// findFilesDir sets the folder of the document's local files: its own, or the
// nearest folder above it, up to the top, that has all of them, as butane's
// --files-dir. If no folder has all, it is the document's own. Above the top are
// files that nobody chose to send to hosts, such as private keys.
func (l *loader) findFilesDir(d *document) {
	if d.dir == "" {
		return
	}
	for dir := l.folderOf(d); l.isBelowTop(dir); dir = path.Dir(dir) {
		hasAll := true
		visitLocals(d.source, nil, func(local string, _ syntax.FieldPath) {
			_, err := fs.Stat(l.src.FS, path.Join(dir, local))
			hasAll = hasAll && err == nil
		})
		if hasAll {
			d.dir = l.displayPath(dir)
			return
		}
		if dir == l.src.Top {
			return
		}
	}
}

// isBelowTop reports whether a folder is the top or below it.
func (l *loader) isBelowTop(dir string) bool {
	return fs.ValidPath(dir) && (l.src.Top == "." || dir == l.src.Top || strings.HasPrefix(dir, l.src.Top+"/"))
}

// localFiles counts the local files of a document.
type localFiles struct {
	loader   *loader
	d        *document
	dir      string // folder of the document in the loader's file system
	bytes    int64
	files    int
	hasError bool
}

// visitLocals calls visit for each local file or folder that a Butane document
// names.
func visitLocals(n *syntax.Node, at syntax.FieldPath, visit func(local string, at syntax.FieldPath)) {
	for i, item := range n.Items {
		if n.Kind == syntax.ListKind {
			visitLocals(item, at.With(i), visit)
			continue
		}
		switch name := n.Keys[i].Name; name {
		case "local", "contents_local":
			visit(item.Scalar, at.With(name))
		case "ssh_authorized_keys_local":
			for j, key := range item.Items {
				visit(key.Scalar, at.With(name, j))
			}
		default:
			visitLocals(item, at.With(name), visit)
		}
	}
}

// countLocal ignores missing files, because the library reports them.
func (c *localFiles) countLocal(local string, at syntax.FieldPath) {
	p := path.Join(c.dir, local)
	if !fs.ValidPath(p) || c.hasError {
		return
	}
	info, err := fs.Stat(c.loader.src.FS, p)
	if err != nil {
		return
	}
	if !info.IsDir() {
		c.countFile(info, at)
		return
	}
	_ = fs.WalkDir(c.loader.src.FS, p, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || c.hasError {
			return fs.SkipAll
		}
		if c.files++; e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				c.countFile(info, at)
			}
		}
		if c.files > maxLocalFiles {
			c.addError(at, "has more than %d files; put so many files into the OS image", maxLocalFiles)
		}
		return nil
	})
}

func (c *localFiles) countFile(info fs.FileInfo, at syntax.FieldPath) {
	limits := c.d.contents.limits
	most := min(limits.document, maxLocalBytes)
	c.bytes += info.Size()
	switch {
	case !info.Mode().IsRegular():
		c.addError(at, "is not a regular file; name a regular file")
	case info.Size() > int64(limits.file):
		c.addError(at, "has more than %d MiB; put files of that size into the OS image", limits.file>>20)
	case c.bytes > int64(most):
		c.addError(at, "exceeds the limit of %d MiB for the local files of this document; put files of that size into the OS image", most>>20)
	}
}

func (c *localFiles) addError(at syntax.FieldPath, format string, args ...any) {
	c.hasError = true
	place := c.d.documentPlace(nil)
	if n, _ := c.d.source.FollowPath(at); n != nil {
		place.Line, place.Column, place.Path = n.Line, n.Column, at.String()
	}
	c.d.report.AddError(place, "%s", fmt.Sprintf(format, args...))
}
