// Command holdfast-package makes the .deb and .rpm packages of holdfast from this
// checkout: binary, man pages, completion, a systemd service and timer, documentation
// and examples. It also makes an OCI image with the binary alone. The same commit makes
// the same bytes.
//
//	go run ./cmd/holdfast-package --out dist
//
// It needs git and Go. The tool that writes the formats is fetched as a Go module.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// nfpmModule is the tool that writes packages. Newer versions could not be fetched and tried.
const nfpmModule = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2"

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "holdfast-package:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("holdfast-package", flag.ContinueOnError)
	out := flags.String("out", "dist", "folder for the packages; it is made if it is missing")
	version := flags.String("version", "", "version of the packages (default: 0.0.0~ with time and commit)")
	arches := flags.String("arch", "amd64,arm64", "architectures, with commas")
	changed := flags.Bool("allow-changes", false, "also package changes that are not committed, to try them; nobody can make these packages again")
	if err := flags.Parse(args); err != nil {
		return err
	}
	src, err := readSource(ctx)
	switch {
	case err != nil:
		return err
	case src.changed && !*changed:
		return errors.New("the checkout has changes that are not committed, so nobody could make these packages again; commit them")
	case src.changed:
		src.version += "+changed"
	}
	if *version != "" {
		src.version = *version
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	return src.packageAll(ctx, strings.Split(*arches, ","), *out)
}

// packageAll packages the checkout for these architectures.
func (s source) packageAll(ctx context.Context, arches []string, out string) error {
	work, err := os.MkdirTemp("", "holdfast-package-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if err := s.generate(ctx, filepath.Join(work, "common")); err != nil {
		return err
	}
	for _, arch := range arches {
		if err := s.packageFor(ctx, arch, work, out); err != nil {
			return fmt.Errorf("%s: %w", arch, err)
		}
	}
	return s.writeImage(filepath.Join(work, "programs"), arches, out)
}

// packageFor builds holdfast for an architecture, and packages it in both formats, with the man pages and completions in the
// folder common of work. The program stays in the folder programs there.
func (s source) packageFor(ctx context.Context, arch, work, out string) error {
	stage, err := os.MkdirTemp("", "holdfast-package-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(stage) }()
	if err := copyTree(filepath.Join(work, "common"), stage); err != nil {
		return err
	}
	program := filepath.Join(work, "programs", arch)
	if err := s.build(ctx, arch, program); err != nil {
		return err
	}
	binary, err := os.ReadFile(program)
	if err == nil {
		err = writeFile(filepath.Join(stage, "holdfast"), binary, 0o755)
	}
	if err != nil {
		return err
	}
	return packer{source: s, arch: arch, stage: stage, out: out, tool: []string{"go", "run", nfpmModule}}.packAll(ctx)
}

// source is the checkout that packages are made from.
type source struct {
	dir     string // root of the checkout
	commit  string
	version string
	time    time.Time // of the commit; all files have it
	changed bool      // the checkout has changes that are not committed
}

// readSource describes the checkout around the current folder.
func readSource(ctx context.Context) (source, error) {
	text, err := place{}.runCommand(ctx, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return source{}, err
	}
	s := source{dir: strings.TrimSpace(text)}
	here := place{dir: s.dir}
	if text, err = here.runCommand(ctx, "git", "show", "-s", "--format=%H %ct", "HEAD"); err != nil {
		return s, err
	}
	hash, seconds, _ := strings.Cut(strings.TrimSpace(text), " ")
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return s, fmt.Errorf("time of the commit: %w", err)
	}
	s.commit, s.time = hash, time.Unix(at, 0).UTC()
	s.version = developmentVersion(s.time, hash)
	text, err = here.runCommand(ctx, "git", "status", "--porcelain")
	s.changed = text != ""
	return s, err
}

// developmentVersion returns the version of a commit. It sorts before every release, and by the second of the commit.
func developmentVersion(at time.Time, hash string) string {
	return "0.0.0~" + at.UTC().Format("20060102150405") + "." + hash[:12]
}

// place is where a command runs: its folder, and variables besides those of this process.
type place struct {
	dir string
	env []string
}

// runCommand returns the standard output of a command. Its error has the standard error.
func (p place) runCommand(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), p.env...)
	out, err := cmd.Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		err = fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(failed.Stderr)))
	}
	return string(out), err
}
