package rollout_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
	"holdfast/modules/tasks"
)

// readingModule returns a module that reads the OS of hosts and changes nothing.
func readingModule() engine.Module {
	m := simulator.Module()
	m.Changes = nil
	return m
}

// aPlay returns a play with the modules of its tasks, and the modules of
// simulated hosts.
func aPlay(p engine.Play, first ...engine.Module) rollout.Play {
	if len(first) == 0 {
		first = []engine.Module{readingModule()}
	}
	all := tasks.ForPlay(p)
	return rollout.Play{Play: p, Modules: append(first, all[2], all[4]), Selected: func(engine.Host) bool { return true }}
}

func withPlays(plays ...rollout.Play) func(*rollout.Run) {
	return func(r *rollout.Run) { r.Plays = plays }
}

// plainTask returns a non-disruptive task that runs a command on the bastion.
func plainTask(command string) engine.Task {
	return engine.Task{Name: command, Module: engine.CommandTaskName, Command: &engine.CommandTask{Command: command, Bastion: true}}
}

func disruptiveTask(command string) engine.Task {
	t := plainTask(command)
	t.Command.Disrupts = true
	return t
}

func commandTexts(b *simulator.Bastion) (list []string) {
	for _, c := range b.Commands() {
		list = append(list, c.Host+" "+c.Text)
	}
	slices.Sort(list)
	return list
}

// A failed host decides the exit code, even if the host matches and its failure
// is within the failure budget.
func TestAHostThatMatchesAndFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inv := noOS(simulator.Fleet(0, 2))
		inv.Pools[1].FailureBudget = engine.CountOrPercent{Count: 1, Set: true}
		site := newSite(inv)
		site.Want("worker-0", "none-2")
		b := site.Bastion("run-1")
		p := engine.Play{Name: "p", Tasks: []engine.Task{{Name: "config", Module: engine.ConfigTask}}, PostTasks: []engine.Task{plainTask("verify")}}
		b.Command = failCommand("verify", "worker-0")
		end := applyRun(b, withPlays(aPlay(p, readingModule(), simulator.Settings())))
		failOnErrors(t, checkEnd(end, engine.ExitFailed, "worker-0: verify: exit status 1"), checkLaws(site))
		if !slices.Equal(end.Failed, []string{"worker-0"}) {
			t.Errorf("%v failed", end.Failed)
		}
	})
}

// stagingModule returns the module of a task that only stages the OS.
func stagingModule() engine.Module { return engine.Module{Name: "simulator", Changes: stagedOS{}} }

type stagedOS struct{}

func (stagedOS) Diff(d engine.Desired, f engine.Facts) (engine.Difference, error) {
	x, err := simulator.Module().Changes.Diff(d, f)
	if err != nil || len(x.Changes) == 0 || f.Ready(d.OS.Digest(), "") {
		return engine.Difference{}, err
	}
	for i := range x.Changes {
		x.Changes[i].Actions = []engine.Action{{Type: engine.NoAction}}
	}
	planSteps := x.Steps
	x.Steps = func(t engine.Target, changes []engine.Change) engine.Steps {
		return engine.Steps{Stage: planSteps(t, changes).Stage}
	}
	return x, nil
}

var stageTask = engine.Task{Name: "stage", Module: engine.StageTask}

// begunSteps returns the steps with these names that a run began, in order.
func begunSteps(b *simulator.Bastion, of ...string) (list []string) {
	for _, e := range b.Events() {
		if e.Type == event.StepStarted && slices.Contains(of, e.Step) {
			list = append(list, cmp.Or(e.Host, e.Cluster)+" "+e.Step)
		}
	}
	return list
}

// A play stages its OS and takes the snapshot of etcd before any work on its
// hosts, disruptive or not.
func TestAPlayStagesAndSavesFirst(t *testing.T) {
	config := engine.Task{Name: "config", Module: engine.ConfigTask}
	for name, tc := range map[string]struct {
		inv     engine.Inventory
		wants   string
		tasks   []engine.Task
		modules []engine.Module
		want    []string
	}{
		"command":  {simulator.Fleet(0, 1), "", []engine.Task{stageTask, plainTask("tell")}, []engine.Module{readingModule(), stagingModule()}, []string{"worker-0 stage", "worker-0 tell"}},
		"config":   {simulator.Fleet(0, 1), "none-2", []engine.Task{stageTask, config}, []engine.Module{readingModule(), stagingModule(), simulator.Settings()}, []string{"worker-0 stage", "worker-0 write"}},
		"reboot":   {simulator.Fleet(0, 1), "reboot-2", []engine.Task{stageTask, config}, []engine.Module{readingModule(), stagingModule(), simulator.Settings()}, []string{"worker-0 stage", "worker-0 write", "worker-0 reboot", "worker-0 stage"}},
		"snapshot": {noOS(simulator.Fleet(1, 0)), "", []engine.Task{{Name: "save", Module: engine.EtcdSnapshotTask}, plainTask("compact")}, []engine.Module{readingModule()}, []string{"main snapshot etcd", "etcd-0 compact"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(tc.inv)
				if tc.wants != "" {
					site.Want("worker-0", tc.wants)
				}
				b := site.Bastion("run-1")
				end := applyRun(b, withPlays(aPlay(engine.Play{Name: "p", Tasks: tc.tasks}, tc.modules...)))
				if err := errors.Join(checkEnd(end, engine.ExitOK), checkLaws(site)); err != nil {
					t.Errorf("%v\n%s", err, runTranscript(b))
				}
				if got := begunSteps(b, "stage", "tell", "write", "reboot", "snapshot etcd", "compact"); !slices.Equal(got, tc.want) {
					t.Errorf("%q, not %q", got, tc.want)
				}
			})
		})
	}
}

// TestWhatACommandHasDoneIsNotLeftHalfWay checks that the sequence of a host is
// completed after a command without undo, even if the operator stops the run.
func TestWhatACommandHasDoneIsNotLeftHalfWay(t *testing.T) {
	for _, step := range []string{"power off", "nap"} {
		t.Run(step, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(noOS(simulator.Fleet(0, 2)))
				p := engine.Play{Name: "p", Tasks: []engine.Task{
					disruptiveTask("power off"),
					{Name: "nap", Module: engine.PauseTask, Pause: &engine.Pause{For: engine.Duration(30 * time.Minute)}},
					disruptiveTask("power on"),
				}}
				b := site.Bastion("run-1")
				b.Takes = func(simulator.Command) time.Duration { return 2 * time.Minute }
				soft, stop := context.WithCancel(t.Context())
				b.Watch = func(e event.Event) {
					if e.Type == event.StepStarted && e.Step == step {
						site.After(time.Minute, stop)
					}
				}
				end := applyRun(b, withPlays(aPlay(p)), func(r *rollout.Run) { r.Soft = soft })
				failOnErrors(t, checkEnd(end, engine.ExitStopped), checkLaws(site), checkFree(site.Host("worker-0")), checkFree(site.Host("worker-1")))
				if got := commandTexts(b); !slices.Equal(got, []string{"worker-0 power off", "worker-0 power on"}) {
					t.Errorf("it ran %q", got)
				}
			})
		})
	}
}
