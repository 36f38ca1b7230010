package scenario

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast/cmd/holdfast-lab/internal/kubernetes"
	"holdfast/cmd/holdfast-lab/internal/lab"
)

// These are the time limits of a scenario, and of a core scenario.
const (
	limit     = 25 * time.Minute
	coreLimit = 8 * time.Minute
)

// siteInventory is the inventory of a scenario.
const siteInventory = "site/inventory.hcl"

// stage is the environment of one scenario.
type stage struct {
	*lane
	trial   *trial
	ctx     context.Context
	cancel  context.CancelFunc
	work    string        // the folder of the scenario
	binary  string        // path of holdfast
	ended   chan struct{} // closed when the scenario has ended
	began   time.Time
	watches map[string]*watch
	jobs    map[string]*job
	numbers map[string]*numbers // by cluster
	trees   map[string]tree     // trees by name and host
	budgets map[kubernetes.Cluster]*kubernetes.BudgetWatch
	last    []func() // called at the end, in reverse order, after the check of the reports
}

type stageKey struct{}

func stageOf(ts *testscript.TestScript) *stage {
	s, ok := ts.Value(stageKey{}).(*stage)
	if !ok {
		ts.Fatalf("the scenario has no stage")
	}
	return s
}

func (l *lane) newStage(ctx context.Context, t *trial) func(*testscript.Env) error {
	return func(env *testscript.Env) error {
		s := &stage{lane: l, trial: t, ctx: ctx, cancel: func() {}, work: env.WorkDir, ended: make(chan struct{}), watches: map[string]*watch{}, jobs: map[string]*job{}, numbers: map[string]*numbers{}, trees: map[string]tree{}, budgets: map[kubernetes.Cluster]*kubernetes.BudgetWatch{}}
		s.limitTime(limit)
		env.Values[stageKey{}] = s
		env.Defer(s.end)
		checkout, err := os.Getwd()
		if err != nil {
			return err
		}
		if s.binary, err = l.buildProgram(t.script); err != nil {
			return err
		}
		env.Setenv("CHECKOUT", checkout)
		env.Setenv("HOLDFAST", s.binary)
		env.Setenv("HOLDFAST_LAB", l.Self)
		env.Setenv("HOLDFAST_LAB_DIR", l.Lab.Dir())
		env.Setenv("HOME", env.WorkDir)
		env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, ".state"))
		env.Setenv("TERM", "dumb")
		return nil
	}
}

// end ends everything that the scenario has started, and checks the reports of its runs.
func (s *stage) end() {
	for _, j := range s.jobs {
		j.killAndWait()
	}
	for _, w := range s.watches {
		_, _, _ = w.Stop() // the scenario has failed already
	}
	for _, n := range s.numbers {
		_ = n.endWrites() // the scenario has failed, or does not need it any more
	}
	for _, w := range s.budgets {
		w.Stop() // the scenario has failed already
	}
	if t := s.trial; t.skipped == "" && !t.failed && s.ctx.Err() == nil {
		if err := s.checkReports(); err != nil {
			t.failed = true
			t.Log(err)
		}
	}
	for _, do := range slices.Backward(s.last) {
		do()
	}
	s.cancel()
	close(s.ended)
}

func (r *Runner) buildProgram(s script) (path string, err error) {
	if s.patient {
		return r.Patient()
	}
	return r.Hasty()
}

func cmdLab(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 || !labLine.MatchString("lab "+strings.Join(args, " ")) {
		ts.Fatalf("usage: lab NAME [core] [alone] [bmc] [kubernetes] [patient] [suite=SUITE]")
	}
	s, began := stageOf(ts), time.Now()
	if slices.Contains(args[1:], "core") {
		s.limitTime(coreLimit)
	}
	s.Lab.ForgetAuthorities()
	ts.Check(s.bringUpLab(s.ctx, args[0], s.trial.nodes, lab.Options{Suite: cmp.Or(s.trial.script.suite, s.Suite), BMC: s.trial.script.bmc}))
	s.began = time.Now()
	s.trial.hosts += s.began.Sub(began)
	ts.Check(copySite(s.Lab.Site(), ts.MkAbs("site")))
	inventory := addGovernorOff(ts.ReadFile(ts.MkAbs(siteInventory)))
	ts.Check(os.WriteFile(ts.MkAbs(siteInventory), []byte(inventory), 0o600))
	v1, v2, err := s.Lab.Commits()
	ts.Check(err)
	ts.Setenv("v1", v1)
	ts.Setenv("v2", v2)
	ts.Setenv("update", "--var=commit="+v2)
}

func cmdSite(ts *testscript.TestScript, neg bool, args []string) {
	requireArgs(ts, neg, args, "site DIR")
	ts.Check(copySite(ts.MkAbs("site"), ts.MkAbs(args[0])))
}

func copySite(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, e.Name()), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func cmdAmend(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: amend AFTER LINE…")
	}
	path := ts.MkAbs(siteInventory)
	anchor, added := args[0]+"\n", strings.Join(args[1:], "\n")+"\n"
	text := ts.ReadFile(path)
	if !strings.Contains(text, anchor) {
		ts.Fatalf("the inventory has no line %q", args[0])
	}
	ts.Check(os.WriteFile(path, []byte(strings.ReplaceAll(text, anchor, anchor+added)), 0o600))
}

func (s *stage) findHost(ts *testscript.TestScript, name string) *lab.Host {
	h, err := s.Lab.Host(name)
	ts.Check(err)
	return h
}

func requireArgs(ts *testscript.TestScript, neg bool, args []string, usage string) {
	if neg || len(args) != len(strings.Fields(usage))-1 {
		ts.Fatalf("usage: %s", usage)
	}
}

func (s *stage) waitUntilOK(d time.Duration, check func() error) error {
	ctx, cancel := context.WithTimeout(s.ctx, d)
	defer cancel()
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %s: %w", d, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
