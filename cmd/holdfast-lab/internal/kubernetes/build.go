package kubernetes

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Version is the version of Kubernetes. build/go.mod.txt requires it.
const Version = "1.37.2"

// cache has a folder with the programs of each version. All labs of the machine share them, because a build takes 19 minutes of one
// processor.
const cache = "/var/cache/holdfast-lab"

// The module of its own that builds Kubernetes. Its files have other names, because Go embeds no file of another module.
//
//go:embed build
var buildFiles embed.FS

var programNames = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"}

// ErrNotBuilt means that Build has not run on this machine.
var ErrNotBuilt = errors.New(`find programs of Kubernetes: they are not built; "holdfast-lab up --kubernetes" builds them, which takes about 20 minutes`)

// Programs is the folder with the programs.
type Programs string

// FindPrograms returns the programs that Build has made. Without them, the error is [ErrNotBuilt].
func FindPrograms() (Programs, error) {
	dir := Programs(filepath.Join(cache, "kubernetes-"+Version))
	for _, name := range programNames {
		if _, err := os.Stat(dir.path(name)); errors.Is(err, fs.ErrNotExist) {
			return "", ErrNotBuilt
		} else if err != nil {
			return "", fmt.Errorf("find programs of Kubernetes: %w", err)
		}
	}
	return dir, nil
}

func (p Programs) path(name string) string { return filepath.Join(string(p), name) }

// Kubectl returns the path of kubectl.
func (p Programs) Kubectl() string { return p.path("kubectl") }

// Manager returns the path of kube-controller-manager.
func (p Programs) Manager() string { return p.path("kube-controller-manager") }

// Build builds the programs, unless it has done so before. It needs the proxy of Go's modules.
func Build(ctx context.Context, log func(string, ...any)) (Programs, error) {
	if p, err := FindPrograms(); !errors.Is(err, ErrNotBuilt) {
		return p, err
	}
	log("build Kubernetes %s, once; this takes about 20 minutes", Version)
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("build Kubernetes: %w", err)
	}
	dir, err := os.MkdirTemp(cache, "build-")
	if err != nil {
		return "", fmt.Errorf("build Kubernetes: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // the build has moved its programs away, or has failed
	if err := buildIn(ctx, dir); err != nil {
		return "", fmt.Errorf("build Kubernetes: %w", err)
	}
	target := filepath.Join(cache, "kubernetes-"+Version)
	if err := os.RemoveAll(target); err != nil {
		return "", fmt.Errorf("build Kubernetes: %w", err)
	}
	if err := os.Rename(filepath.Join(dir, "bin"), target); err != nil {
		return "", fmt.Errorf("build Kubernetes: %w", err)
	}
	return FindPrograms()
}

func buildIn(ctx context.Context, dir string) error {
	for _, name := range []string{"go.mod", "go.sum", "tools.go"} {
		text, err := buildFiles.ReadFile("build/" + name + ".txt")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	const versions = "k8s.io/component-base/version"
	parts := strings.Split(Version, ".")
	flags := fmt.Sprintf("-s -w -X %[1]s.gitVersion=v%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s", versions, Version, parts[0], parts[1])
	args := []string{"build", "-mod=readonly", "-ldflags", flags, "-o", "bin/"}
	for _, name := range programNames {
		args = append(args, "k8s.io/kubernetes/cmd/"+name)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GOFLAGS=") }), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, strings.TrimSpace(string(out[max(0, len(out)-4000):])))
	}
	return nil
}
