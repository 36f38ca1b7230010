package config

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// maxLocals is how many files the trees of a Butane document may have.
const maxLocals = 100_000

// localsFit reports whether the local files of a Butane document may be read:
// the library reads them whole, whatever they are.
func (l *loader) localsFit(d *document) bool {
	c := locals{loader: l, d: d, dir: strings.TrimPrefix(strings.TrimPrefix(d.dir, strings.TrimSuffix(l.src.Root, "/")), "/")}
	c.look(d.source, nil)
	return !c.wrong
}

// locals counts the local files of a document.
type locals struct {
	loader *loader
	d      *document
	dir    string // of the document, in the file system of the loader
	bytes  int64
	files  int
	wrong  bool
}

// look finds the fields that name files.
func (c *locals) look(n *node, at steps) {
	for i, item := range n.items {
		if n.kind == listKind {
			c.look(item, at.with(i))
			continue
		}
		switch name := n.keys[i].name; name {
		case "local", "contents_local":
			c.count(item.scalar, at.with(name))
		case "ssh_authorized_keys_local":
			for j, key := range item.items {
				c.count(key.scalar, at.with(name, j))
			}
		default:
			c.look(item, at.with(name))
		}
	}
}

// count adds a file, or a tree of them. What is not there is for the library
// to say.
func (c *locals) count(local string, at steps) {
	p := path.Join(c.dir, local)
	if !fs.ValidPath(p) || c.wrong {
		return
	}
	info, err := fs.Stat(c.loader.src.FS, p)
	if err != nil {
		return
	}
	if !info.IsDir() {
		c.file(info, at)
		return
	}
	_ = fs.WalkDir(c.loader.src.FS, p, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || c.wrong {
			return fs.SkipAll
		}
		if c.files++; e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				c.file(info, at)
			}
		}
		if c.files > maxLocals {
			c.add(at, "has more than %d files; put so many into the OS image", maxLocals)
		}
		return nil
	})
}

func (c *locals) file(info fs.FileInfo, at steps) {
	limits := c.d.contents.limits
	c.bytes += info.Size()
	switch {
	case !info.Mode().IsRegular():
		c.add(at, "names something that is not a regular file; name a file")
	case info.Size() > int64(limits.file):
		c.add(at, "has more than %d MiB; put files of that size into the OS image", limits.file>>20)
	case c.bytes > int64(limits.document):
		c.add(at, "makes more than %d MiB of the local files of this document; put files of that size into the OS image", limits.document>>20)
	}
}

func (c *locals) add(at steps, format string, args ...any) {
	c.wrong = true
	place := c.d.place(nil)
	if n, _ := c.d.source.follow(at); n != nil {
		place.Line, place.Column, place.Path = n.line, n.column, at.String()
	}
	c.d.report.add(place, "%s", fmt.Sprintf(format, args...))
}
