package main

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
)

//go:embed files
var files embed.FS

// packer packages the files of a stage: program, man pages and completions.
type packer struct {
	source
	arch       string
	stage, out string
	tool       []string // nfpm, as words of a command
}

func (p packer) packAll(ctx context.Context) error {
	if err := compressPages(filepath.Join(p.stage, "man")); err != nil {
		return err
	}
	if err := p.addDocumentation(p.stage); err != nil {
		return err
	}
	if err := p.addFiles(); err != nil {
		return err
	}
	for _, format := range []string{"deb", "rpm"} {
		args := append(p.tool[1:len(p.tool):len(p.tool)], "package", "--config", filepath.Join(p.stage, "nfpm.yaml"), "--packager", format, "--target", p.out)
		text, err := place{env: []string{"TZ=UTC"}}.runCommand(ctx, p.tool[0], args...)
		if err != nil {
			return err
		}
		fmt.Print(text)
	}
	return nil
}

// addFiles writes the files of this folder into the stage. Only nfpm.yaml has values to fill in.
func (p packer) addFiles() error {
	return fs.WalkDir(files, "files", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		switch path.Ext(name) {
		case ".yaml":
			text = []byte(os.Expand(string(text), p.valueOf))
		case ".sh":
			mode = 0o755
		}
		return writeFile(filepath.Join(p.stage, path.Base(name)), text, mode)
	})
}

func (p packer) valueOf(name string) string {
	switch name {
	case "STAGE":
		return p.stage
	case "ARCH":
		return p.arch
	case "VERSION":
		return p.version
	case "MTIME":
		return p.time.Format(time.RFC3339)
	}
	return ""
}
