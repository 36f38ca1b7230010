package rollout_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/hosttest"
	"holdfast/engine/rollout"
	"holdfast/modules"
)

// looking reads hosts for plays that do nothing else about their OS.
type looking struct{ hosttest.Module }

func (looking) Diff(engine.Desired, engine.Facts) ([]engine.Change, error) { return nil, nil }

// aPlay is a play with its tasks of modules, and what makes hosts in memory match.
func aPlay(p engine.Play, first ...engine.Module) rollout.Play {
	if len(first) == 0 {
		first = []engine.Module{looking{}}
	}
	all := modules.For(p)
	return rollout.Play{Play: p, Modules: append(first, all[2], all[4]), Selected: func(engine.Host) bool { return true }}
}

func playbook(plays ...rollout.Play) func(*rollout.Run) {
	return func(r *rollout.Run) { r.Plays = plays }
}

// tells is a task that runs a command on the bastion and disturbs nothing.
func tells(command string) engine.Task {
	return engine.Task{Name: command, Module: engine.CommandTaskName, Command: &engine.CommandTask{Command: command, Bastion: true}}
}

// disrupts is one that disrupts the host.
func disrupts(command string) engine.Task {
	t := tells(command)
	t.Command.Disrupts = true
	return t
}

// commands gives what a run has run on the bastion.
func commands(b *hosttest.Bastion) (list []string) {
	for _, c := range b.Commands() {
		list = append(list, c.Host+" "+c.Text)
	}
	slices.Sort(list)
	return list
}

// A host that failed is in the exit code, though it matches and may fail.
func TestAHostThatMatchesAndFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inv := noOS(hosttest.Fleet(0, 2))
		inv.Pools[1].FailureBudget = engine.Limit{Count: 1, Set: true}
		site := newSite(inv)
		site.Want("worker-0", "none-2")
		b := site.Bastion("run-1")
		p := engine.Play{Name: "p", Tasks: []engine.Task{{Name: "config", Module: engine.ConfigTask}}, PostTasks: []engine.Task{tells("verify")}}
		b.Command = failing("verify", "worker-0")
		end := apply(b, playbook(aPlay(p, looking{}, hosttest.Settings{})))
		check(t, ended(end, engine.ExitFailed, "worker-0 has failed (verify: exit status 1)"), lawful(site))
		if !slices.Equal(end.Failed, []string{"worker-0"}) {
			t.Errorf("%v failed", end.Failed)
		}
	})
}

// A host to which a command has done what nothing takes back is seen through
// when the operator wants to stop, whatever the command is doing then.
func TestWhatACommandHasDoneIsNotLeftHalfWay(t *testing.T) {
	for _, step := range []string{"power off", "nap"} {
		t.Run(step, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(noOS(hosttest.Fleet(0, 2)))
				p := engine.Play{Name: "p", Tasks: []engine.Task{
					disrupts("power off"),
					{Name: "nap", Module: engine.PauseTask, Pause: &engine.Pause{For: engine.Duration(30 * time.Minute)}},
					disrupts("power on"),
				}}
				b := site.Bastion("run-1")
				b.Takes = func(hosttest.Command) time.Duration { return 2 * time.Minute }
				soft, stop := context.WithCancel(t.Context())
				b.Watch = func(e engine.Event) {
					if e.Type == engine.StepStarted && e.Step == step {
						site.After(time.Minute, stop)
					}
				}
				end := apply(b, playbook(aPlay(p)), func(r *rollout.Run) { r.Soft = soft })
				check(t, ended(end, engine.ExitStopped), lawful(site), free(site.Host("worker-0")), free(site.Host("worker-1")))
				if got := commands(b); !slices.Equal(got, []string{"worker-0 power off", "worker-0 power on"}) {
					t.Errorf("it ran %q", got)
				}
			})
		})
	}
}
