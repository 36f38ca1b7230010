// Package scenario runs testscript files against real hosts. These scripts
// operate power switches, cables and disks, run holdfast, and check the state of
// hosts and of etcd afterwards.
//
// The first command of a script names the lab that the script needs. At the start of every script, the
// hosts are at their first boot. With several labs, scripts run side by side, but for those that measure.
// doc.txt describes the commands of scripts.
package scenario

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"holdfast/cmd/holdfast-lab/internal/image"
	"holdfast/cmd/holdfast-lab/internal/lab"
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
	Labs []*lab.Lab // as many scenarios as labs run side by side
	Self string     // path of holdfast-lab
	// Hasty and Patient build holdfast, the first time, and return its path. The patient one is that of a site. A scenario gets it
	// if it runs alone, or if its line lab has the word. The hasty one waits only 2 s until a service has settled.
	Hasty, Patient func() (string, error)
	Out            io.Writer
	Suite          image.Suite // suite that hosts run
	// Match selects scenarios by name. nil selects the core scenarios, or with
	// All every scenario.
	Match *regexp.Regexp
	All   bool
	// Part selects a part of these scenarios.
	Part Part
	// Verbose prints the log of every scenario, not only of the failed ones.
	Verbose bool

	done *outcomes
}

// script is one scenario.
type script struct {
	name, lab, path string
	core, alone     bool        // alone is true if other scenarios would change the result
	bmc             bool        // its hosts have management controllers
	nodes           bool        // its hosts are nodes of a Kubernetes cluster
	patient         bool        // holdfast waits as long for services as on a site
	suite           image.Suite // suite that its hosts run; "": that of the run
	expected        time.Duration
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

var labLine = regexp.MustCompile(`(?m)^lab (\S+)( core)?( alone)?( bmc)?( kubernetes)?( patient)?(?: suite=(\S+))?$`)

func listScripts() ([]script, error) {
	paths, err := fs.Glob(scripts, "scripts/*.txtar")
	if err != nil {
		return nil, err
	}
	known, err := parseDurations(durationList)
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
		s := script{name: name, lab: string(found[1]), core: len(found[2]) > 0, alone: len(found[3]) > 0, bmc: len(found[4]) > 0, nodes: len(found[5]) > 0, patient: len(found[3])+len(found[6]) > 0, suite: image.Suite(found[7]), path: path, expected: cmp.Or(known[name], defaultDuration)}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b script) int { return strings.Compare(a.lab, b.lab) })
	return all, nil
}

// CountShared returns how many of the selected scenarios can run side by side, and the suites of their hosts, that of the
// run first.
func (r *Runner) CountShared() (int, []image.Suite, error) {
	all, err := r.selectScripts()
	shared, suites := planRun(all, 2).shared, []image.Suite{r.Suite}
	for _, s := range shared {
		if s.suite != "" && !slices.Contains(suites, s.suite) {
			suites = append(suites, s.suite)
		}
	}
	return len(shared), suites, err
}

func (r *Runner) selectScripts() ([]script, error) {
	all, err := listScripts()
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(s script) bool { return !r.isSelected(s) })
	if len(all) == 0 {
		return nil, errors.New("select scenarios: none has such a name")
	}
	return choosePart(all, r.Part), nil
}

func (r *Runner) isSelected(s script) bool {
	if r.Match != nil {
		return r.Match.MatchString(s.name)
	}
	return r.All || s.core
}
