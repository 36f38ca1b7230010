package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// build builds the program for an architecture. Paths and settings of this machine are not in it, nor what Go finds in a
// checkout: a worktree has no commit for Go, and a shallow clone has no tags.
func (s source) build(ctx context.Context, arch, file string) error {
	linked := "-ldflags=-s -w -buildid= -X main.packagedVersion=" + s.version + " -X main.packagedCommit=" + s.commit
	_, err := place{s.dir, []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=" + arch, "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFLAGS="}}.runCommand(ctx,
		"go", "build", "-trimpath", "-buildvcs=false", linked, "-o", file, "./cmd/holdfast")
	return err
}

// generate makes the man pages and completions, which are the same for all architectures.
func (s source) generate(ctx context.Context, stage string) error {
	pages := filepath.Join(stage, "man")
	if err := makeFolder(pages); err != nil {
		return err
	}
	here := place{s.dir, []string{"CGO_ENABLED=0"}} // with -trimpath, as in build, so that little is compiled twice
	if _, err := here.runCommand(ctx, "go", "run", "-trimpath", "-tags", "man", "./cmd/holdfast", pages, strconv.FormatInt(s.time.Unix(), 10), s.version); err != nil {
		return err
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		text, err := here.runCommand(ctx, "go", "run", "-trimpath", "./cmd/holdfast", "completion", shell)
		if err == nil {
			err = writeFile(filepath.Join(stage, "holdfast."+shell), []byte(text), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addDocumentation copies the documentation and the examples, and describes licence and
// changes as Debian wants it.
func (s source) addDocumentation(stage string) error {
	doc := filepath.Join(stage, "doc")
	for _, folder := range []string{"docs", "examples", "inventories", "playbooks"} {
		if err := copyTree(filepath.Join(s.dir, folder), filepath.Join(doc, folder)); err != nil {
			return err
		}
	}
	readme, err := os.ReadFile(filepath.Join(s.dir, "README.md"))
	if err == nil {
		err = writeFile(filepath.Join(doc, "README.md"), readme, 0o644)
	}
	if err != nil {
		return err
	}
	upstream, err := os.ReadFile(filepath.Join(s.dir, "CHANGELOG.md"))
	if err == nil {
		err = writeGzip(filepath.Join(doc, "changelog.gz"), upstream)
	}
	if err != nil {
		return err
	}
	const maintainer = "holdfast maintainers <maintainers@holdfast.invalid>"
	changes := fmt.Sprintf("holdfast (%s-1) unstable; urgency=medium\n\n  * Commit %s.\n    changelog.gz has the changes.\n\n -- %s  %s\n", s.version, s.commit, maintainer, s.time.Format(time.RFC1123Z))
	if err := writeGzip(filepath.Join(doc, "changelog.Debian.gz"), []byte(changes)); err != nil {
		return err
	}
	copyright := "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: holdfast\n\nFiles: *\nCopyright: 2026 the holdfast authors\nLicense: Apache-2.0\n On Debian, /usr/share/common-licenses/Apache-2.0 has the text of this licence.\n"
	return writeFile(filepath.Join(doc, "copyright"), []byte(copyright), 0o644)
}

// compressPages replaces each man page by a compressed one.
func compressPages(dir string) error {
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil {
		return err
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		if err := writeGzip(page+".gz", text); err != nil {
			return err
		}
		if err := os.Remove(page); err != nil {
			return err
		}
	}
	return nil
}

// writeGzip writes a compressed file without a name and a time in it.
func writeGzip(file string, text []byte) error {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return writeFile(file, packed.Bytes(), 0o644)
}

func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return makeFolder(filepath.Join(to, below))
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return writeFile(filepath.Join(to, below), text, 0o644)
	})
}

// makeFolder makes a folder and those above it. The umask has no effect on its mode.
func makeFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.Chmod(dir, 0o755)
}

// writeFile writes a file. The umask has no effect on its mode.
func writeFile(file string, data []byte, mode fs.FileMode) error {
	if err := makeFolder(filepath.Dir(file)); err != nil {
		return err
	}
	if err := os.WriteFile(file, data, mode); err != nil {
		return err
	}
	return os.Chmod(file, mode)
}
