package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/sourcegraph/conc/pool"

	"holdfast/cmd/holdfast-lab/internal/lab"
	"holdfast/cmd/holdfast-lab/internal/spec"
)

// lane runs scenarios one after the other, in one lab.
type lane struct {
	*Runner
	Lab *lab.Lab
}

// outcomes collects and prints the outcomes of scenarios that run side by side.
type outcomes struct {
	mu      sync.Mutex
	out     io.Writer
	verbose bool
	trials  []*trial
	watches []watchResult
}

func (o *outcomes) announceStart(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	fmt.Fprintln(o.out, time.Now().Format(time.TimeOnly), "start", name)
}

func (o *outcomes) addTrial(t *trial) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.trials = append(o.trials, t)
	fmt.Fprint(o.out, time.Now().Format(time.TimeOnly), " ", t.formatOutcome(o.verbose))
}

func (o *outcomes) addWatch(w watchResult) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.watches = append(o.watches, w)
}

// Run runs the selected scenarios. The error names the failed scenarios.
func (r *Runner) Run(ctx context.Context) error {
	all, err := r.selectScripts()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "holdfast-lab-test-")
	if err != nil {
		return fmt.Errorf("run scenarios: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	began := time.Now()
	r.done = &outcomes{out: r.Out, verbose: r.Verbose}
	err = r.runSchedule(ctx, dir, planRun(all, len(r.Labs)))
	fmt.Fprint(r.Out, formatResults(r.done.watches), formatTimes(r.done.trials))
	fmt.Fprintf(r.Out, "%s, %.0f s\n", countOutcomes(r.done.trials), time.Since(began).Seconds())
	if failures := failedNames(r.done.trials); len(failures) > 0 {
		err = errors.Join(fmt.Errorf("failed: %s", strings.Join(failures, ", ")), err)
	}
	return cmp.Or(err, ctx.Err())
}

// runSchedule takes all labs but the first down before scenarios run alone: the hosts of an idle lab use the processors, too.
func (r *Runner) runSchedule(ctx context.Context, dir string, s schedule) error {
	q := &queue{left: s.shared, labs: len(r.Labs)}
	workers := pool.New().WithErrors()
	for _, l := range r.Labs {
		workers.Go(func() error { return (&lane{Runner: r, Lab: l}).runQueue(ctx, dir, q) })
	}
	if err := workers.Wait(); err != nil {
		return err
	}
	if len(s.shared) > 0 && len(s.alone) > 0 && ctx.Err() == nil {
		for _, l := range r.Labs[1:] {
			if err := l.DownAlone(ctx); err != nil {
				return err
			}
		}
	}
	for _, one := range s.alone {
		if err := (&lane{Runner: r, Lab: r.Labs[0]}).runScript(ctx, dir, one); err != nil {
			return err
		}
	}
	return nil
}

// runQueue runs scenarios until the queue is empty.
func (l *lane) runQueue(ctx context.Context, dir string, q *queue) error {
	for s, ok := q.takeNext(script{}); ok; s, ok = q.takeNext(s) {
		if err := l.runScript(ctx, dir, s); err != nil {
			return err
		}
	}
	return nil
}

// runScript does nothing if ctx has ended.
func (l *lane) runScript(ctx context.Context, dir string, s script) error {
	if ctx.Err() != nil {
		return nil
	}
	text, err := fs.ReadFile(scripts, s.path)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, filepath.Base(s.path))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("unpack scenario: %w", err)
	}
	l.done.announceStart(s.name)
	l.done.addTrial(l.runFile(ctx, s, file))
	return nil
}

func (l *lane) runFile(ctx context.Context, s script, file string) *trial {
	t, began := &trial{script: s}, time.Now()
	t.runRecovered(func() {
		testscript.RunT(t, testscript.Params{
			Files: []string{file}, Setup: l.newStage(ctx, t), Cmds: scriptCommands(), Condition: isMet, RequireExplicitExec: true,
		})
	})
	t.took = time.Since(began)
	return t
}

func (l *lane) bringUpLab(ctx context.Context, name string, nodes bool, o lab.Options) error {
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
	s.Kubernetes = nodes
	if err := l.Lab.Serve(ctx, 0); err == nil && l.Lab.IsUp() && l.Lab.Has(s, o.Suite) {
		return errors.Join(l.Lab.Reset(ctx), l.Lab.SetBMC(ctx, o.BMC))
	}
	if err := l.Lab.DownAlone(ctx); err != nil {
		return err
	}
	return l.Lab.Up(ctx, s, o)
}
