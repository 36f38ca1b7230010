package config

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// maxLocalFiles is the maximum number of files in the trees of a Butane
// document.
const maxLocalFiles = 100_000

// localsFit reports whether the local files of a Butane document are within
// the limits. The library reads them completely, even devices.
func (l *loader) localsFit(d *document) bool {
	c := localFiles{loader: l, d: d, dir: strings.TrimPrefix(strings.TrimPrefix(d.dir, strings.TrimSuffix(l.src.Root, "/")), "/")}
	c.findFields(d.source, nil)
	return !c.hasError
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

func (c *localFiles) findFields(n *node, at fieldPath) {
	for i, item := range n.items {
		if n.kind == listKind {
			c.findFields(item, at.with(i))
			continue
		}
		switch name := n.keys[i].name; name {
		case "local", "contents_local":
			c.countLocal(item.scalar, at.with(name))
		case "ssh_authorized_keys_local":
			for j, key := range item.items {
				c.countLocal(key.scalar, at.with(name, j))
			}
		default:
			c.findFields(item, at.with(name))
		}
	}
}

// countLocal counts a file or a tree. It ignores missing files, because the
// library reports them.
func (c *localFiles) countLocal(local string, at fieldPath) {
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
			c.addError(at, "has more than %d files; put so many into the OS image", maxLocalFiles)
		}
		return nil
	})
}

func (c *localFiles) countFile(info fs.FileInfo, at fieldPath) {
	limits := c.d.contents.limits
	c.bytes += info.Size()
	switch {
	case !info.Mode().IsRegular():
		c.addError(at, "is not a regular file; name a regular file")
	case info.Size() > int64(limits.file):
		c.addError(at, "has more than %d MiB; put files of that size into the OS image", limits.file>>20)
	case c.bytes > int64(limits.document):
		c.addError(at, "exceeds the limit of %d MiB for the local files of this document; put files of that size into the OS image", limits.document>>20)
	}
}

func (c *localFiles) addError(at fieldPath, format string, args ...any) {
	c.hasError = true
	place := c.d.documentPlace(nil)
	if n, _ := c.d.source.followPath(at); n != nil {
		place.Line, place.Column, place.Path = n.line, n.column, at.String()
	}
	c.d.report.addError(place, "%s", fmt.Sprintf(format, args...))
}
