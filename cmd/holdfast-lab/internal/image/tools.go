package image

import (
	"context"
	_ "embed" // embeds scripts
	"fmt"
	"os"
	"slices"
	"strings"
)

//go:embed sh/intools.sh
var inToolsScript string

// runTool runs a program that works on the image, with mounts of its own. For a suite with composefs it is the program of the
// suite: the ostree of an older machine knows no composefs.
func (s Store) runTool(ctx context.Context, name string, args ...string) (string, error) {
	words := []string{"--mount", "--propagation", "private"}
	if s.Suite.usesComposefs() {
		words = append(words, "sh", "-c", inToolsScript, "sh", s.path("tools"), s.Dir)
	}
	return runCommand(ctx, "unshare", slices.Concat(words, []string{name}, args)...)
}

// keepTools links the tree, before its first commit, as the root of runTool. Folders that are made in it are not in the tree.
func (s Store) keepTools(ctx context.Context) error {
	if !s.Suite.usesComposefs() {
		return nil
	}
	tools := tree{root: s.path("tools")}
	if _, err := runCommand(ctx, "cp", "-al", s.path("tree"), tools.root); err != nil {
		return err
	}
	for _, l := range topLevel { // their targets are missing, and the folder of the image may be below one of them
		if strings.Contains(l.name, "/") {
			continue
		}
		if err := os.Remove(tools.path(l.name)); err != nil {
			return fmt.Errorf("make tools: %w", err)
		}
	}
	return os.MkdirAll(tools.path("etc"), 0o755)
}
