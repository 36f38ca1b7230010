// Package scenario runs testscript files against real hosts. These scripts
// operate power switches, cables and disks, run holdfast, and check the state of
// hosts and of etcd afterwards.
//
// The first command of a script names the lab that the script needs. Scripts with
// the same lab run one after the other in it. At the start of every script, the
// hosts are at their first boot. doc.txt describes the commands of scripts.
package scenario

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast/cmd/holdfast-lab/internal/image"
	"holdfast/cmd/holdfast-lab/internal/lab"
	"holdfast/cmd/holdfast-lab/internal/spec"
)

//go:embed scripts/*.txtar
var scripts embed.FS

//go:embed labs/*.hcl
var labs embed.FS

//go:embed doc.txt
var doc string

// Doc returns the manual of the commands that a script can use.
func Doc() string { return doc }

// Runner runs scenarios.
type Runner struct {
	Lab    *lab.Lab
	Binary string // path of holdfast
	Self   string // path of holdfast-lab
	Out    io.Writer
	Suite  image.Suite // suite that hosts run
	// Match selects scenarios by name. nil selects the core scenarios, or with
	// All every scenario.
	Match *regexp.Regexp
	All   bool
	// Verbose prints the log of every scenario, not only of the failed ones.
	Verbose bool

	results []watchResult
}

// script is one scenario.
type script struct {
	name, lab, path string
	core            bool
}

// Names lists all scenarios in their order. "core" follows the names of core
// scenarios.
func Names() ([]string, error) {
	all, err := listScripts()
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(all))
	for _, s := range all {
		if s.core {
			s.name += " core"
		}
		names = append(names, s.name)
	}
	return names, nil
}

var labLine = regexp.MustCompile(`(?m)^lab (\S+)( core)?$`)

func listScripts() ([]script, error) {
	paths, err := fs.Glob(scripts, "scripts/*.txtar")
	if err != nil {
		return nil, err
	}
	var all []script
	for _, path := range paths {
		text, err := fs.ReadFile(scripts, path)
		if err != nil {
			return nil, err
		}
		found := labLine.FindSubmatch(text)
		if found == nil {
			return nil, fmt.Errorf("read scenario %s: it does not say which lab it needs", path)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		all = append(all, script{name: name, lab: string(found[1]), core: len(found[2]) > 0, path: path})
	}
	slices.SortStableFunc(all, func(a, b script) int { return strings.Compare(a.lab, b.lab) })
	return all, nil
}

// Run runs the selected scenarios one after the other. The error names the failed
// scenarios.
func (r *Runner) Run(ctx context.Context) error {
	all, err := listScripts()
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(s script) bool { return !r.isSelected(s) })
	if len(all) == 0 {
		return errors.New("select scenarios: none has such a name")
	}
	dir, err := os.MkdirTemp("", "holdfast-lab-test-")
	if err != nil {
		return fmt.Errorf("run scenarios: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	files, err := unpackScripts(dir, all)
	if err != nil {
		return err
	}
	began := time.Now()
	t := &runT{ctx: ctx, out: r.Out, verbose: r.Verbose}
	t.runRecovered(func() {
		testscript.RunT(t, testscript.Params{
			Files: files, Setup: r.newStage(ctx), Cmds: scriptCommands(), Condition: isMet, RequireExplicitExec: true,
		})
	})
	fmt.Fprint(r.Out, formatResults(r.results))
	fmt.Fprintf(r.Out, "%s, %.0f s\n", t.countOutcomes(), time.Since(began).Seconds())
	if len(t.failures) > 0 {
		return fmt.Errorf("failed: %s", strings.Join(t.failures, ", "))
	}
	if t.failed {
		return errors.New("run scenarios: not all could be run")
	}
	return ctx.Err()
}

func (r *Runner) isSelected(s script) bool {
	if r.Match != nil {
		return r.Match.MatchString(s.name)
	}
	return r.All || s.core
}

func unpackScripts(dir string, all []script) ([]string, error) {
	var files []string
	for _, s := range all {
		text, err := fs.ReadFile(scripts, s.path)
		if err != nil {
			return nil, err
		}
		file := filepath.Join(dir, filepath.Base(s.path))
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return nil, fmt.Errorf("unpack scenario: %w", err)
		}
		files = append(files, file)
	}
	return files, nil
}

func (r *Runner) bringUpLab(ctx context.Context, name string) error {
	source := spec.DefaultHCL
	if name != "default" {
		text, err := fs.ReadFile(labs, "labs/"+name+".hcl")
		if err != nil {
			return fmt.Errorf("find lab %s: there is none of that name", name)
		}
		source = text
	}
	s, err := spec.Parse(name+".hcl", source)
	if err != nil {
		return err
	}
	if err := r.Lab.Serve(ctx, 0); err == nil && r.Lab.IsUp() && r.Lab.Has(s, r.Suite) {
		return r.Lab.Reset(ctx)
	}
	if err := r.Lab.Down(ctx, false); err != nil {
		return err
	}
	return r.Lab.Up(ctx, s, lab.Options{Suite: r.Suite})
}
