package rollout_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
	"holdfast/modules/tasks"
)

// withPlay returns an option that sets the play, and the modules of its other
// tasks.
func withPlay(p engine.Play, match ...engine.Module) func(*rollout.Run) {
	p.Name, p.Hosts = "p", "all"
	all := tasks.ForPlay(p)
	look := []engine.Module{readingModule()}
	if len(match) > 0 {
		look = nil // one of the modules reads the hosts
	}
	ms := append(append(look, all[2]), match...)
	return func(r *rollout.Run) {
		r.Plays = append(r.Plays, rollout.Play{Play: p, Modules: append(ms, all[4]), Selected: func(engine.Host) bool { return true }})
	}
}

// tellTask returns a non-disruptive task that runs a command on the bastion.
func tellTask(command string) engine.Task {
	return engine.Task{Name: command, Module: engine.CommandTaskName, Command: &engine.CommandTask{Command: command, Bastion: true}}
}

func disruptingTask(name, command string) engine.Task {
	t := tellTask(command)
	t.Name, t.Command.Disrupts = name, true
	return t
}

func pauseTask(d time.Duration) engine.Task {
	return engine.Task{Name: "pause", Module: engine.PauseTask, Pause: &engine.Pause{For: engine.Duration(d)}}
}

func matchingTask(module string) engine.Task { return engine.Task{Name: module, Module: module} }

func commandsOf(b *simulator.Bastion) (list []string) {
	for _, c := range b.Commands() {
		list = append(list, c.Text)
	}
	return list
}

// If a member is lost between two disruptions of a play, the next disruption
// does not begin, because it would cost the quorum.
func TestASecondDisruptionIsNotBegunWithoutAQuorum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(noOS(simulator.Fleet(3, 0)))
		b := site.Bastion("run-1")
		b.Watch = func(e event.Event) {
			if e.Type == event.StepStarted && e.Step == "pause" {
				site.After(10*time.Minute, site.Host("etcd-0").StopEtcd)
			}
		}
		end := applyRun(b, withPlay(engine.Play{Tasks: []engine.Task{disruptingTask("first", "disrupt"), pauseTask(30 * time.Minute), disruptingTask("second", "disrupt")}}))
		failOnErrors(t, checkLaws(site), checkEnd(end, engine.ExitFailed, "check quorum: etcd cluster main: member etcd-0 is not healthy"), checkHeldFor(site.Host("etcd-1"), b.ID, "member etcd-0 is not healthy"))
		if list := commandsOf(b); len(list) != 1 {
			t.Errorf("%q", list)
		}
	})
}

// A non-disruptive command on a host is not repeated when its answer is lost,
// and its failure does not keep the host held.
func TestAHarmlessCommandLeavesAWayBack(t *testing.T) {
	for name, change := range map[string]func(*simulator.Site, *simulator.Bastion){
		"its answer is lost": func(_ *simulator.Site, b *simulator.Bastion) {
			b.Fault = func(c simulator.Call) simulator.Fault {
				if c.Verb == "abort" {
					return simulator.LostBack
				}
				return simulator.NoFault
			}
		},
		"a member is lost": func(site *simulator.Site, b *simulator.Bastion) {
			b.Watch = func(e event.Event) {
				if e.Type == event.StepStarted && e.Step == "harmless" {
					site.Host("etcd-2").StopEtcd()
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(simulator.Fleet(3, 0))
				b := site.Bastion("run-1")
				change(site, b)
				end := applyRun(b, withPlay(engine.Play{}, simulator.Module(), engine.Module{Name: "simulator", Tasks: harmless{}}))
				failOnErrors(t, checkLaws(site), checkEnd(end, engine.ExitFailed))
				for _, h := range site.Hosts() {
					failOnErrors(t, checkUntouched(h))
				}
				if n := strings.Count(fmt.Sprint(b.Calls()), "abort"); n != 1 {
					t.Errorf("it was run %d times", n)
				}
			})
		})
	}
}

// harmless has a command on each host before the drain.
type harmless struct{}

func (harmless) TasksAround(t engine.Target) (before, after []engine.Step) {
	step := modulesStep(t)
	step.Do.Exec.Script = engine.NewScript("simulator abort") // a script that simulated hosts know
	return []engine.Step{step}, nil
}

// modulesStep returns a command on a host, as a module composes it.
func modulesStep(t engine.Target) engine.Step {
	p := engine.Play{Tasks: []engine.Task{matchingTask(engine.FinalizeTask)}, PreTasks: []engine.Task{{Name: "harmless", Module: engine.CommandTaskName, Command: &engine.CommandTask{Command: "true"}}}}
	before, _ := tasks.ForPlay(p)[4].Tasks.TasksAround(t)
	return before[0]
}

// TestALaterPlayDoesTheTasksThatADeadRunLeft checks that the first play with a
// host of a dead run adopts the host, and that a later play runs its own tasks
// for recovered hosts.
func TestALaterPlayDoesTheTasksThatADeadRunLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(0, 2))
		plays := func(r *rollout.Run) {
			withPlay(engine.Play{Tasks: []engine.Task{matchingTask(engine.StageTask)}})(r)
			withPlay(loadBalancedPlay(), simulator.Module())(r)
		}
		first := site.Bastion("run-1")
		first.Watch = func(e event.Event) {
			if e.Type == event.StepEnded && e.Step == "wait for boot" {
				first.Kill()
			}
		}
		applyRun(first, plays)
		time.Sleep(time.Hour)
		second := site.Bastion("run-2")
		failOnErrors(t, checkEnd(applyRun(second, plays, successorOf(first)), engine.ExitOK), checkConverged(site))
		if did := fmt.Sprint(commandsOf(second)); did != "[undrain in out drain undrain in]" {
			t.Errorf("did %s", did)
		}
		third := site.Bastion("run-3")
		failOnErrors(t, checkEnd(applyRun(third, plays, successorOf(second)), engine.ExitOK))
		if did := commandsOf(third); len(did) > 0 {
			t.Errorf("did %q", did)
		}
	})
}

// loadBalancedPlay returns a play that takes hosts out of a load balancer during the update.
func loadBalancedPlay() engine.Play {
	return engine.Play{PreTasks: []engine.Task{tellTask("out")}, Tasks: []engine.Task{matchingTask(engine.FinalizeTask)}, PostTasks: []engine.Task{tellTask("in")}}
}

// TestPostTasksOfAHostThatWasLeftBehind checks that a run carries out the
// post-tasks of its play on a host that a dead run brought to its OS. If an
// earlier play adopts the host, the later play carries them out.
func TestPostTasksOfAHostThatWasLeftBehind(t *testing.T) {
	killAt := func(step string, on event.Type) func(*simulator.Bastion) {
		return func(b *simulator.Bastion) {
			b.Watch = func(e event.Event) {
				if e.Type == on && e.Step == step {
					b.Kill()
				}
			}
		}
	}
	failing := func(b *simulator.Bastion) {
		b.Command = func(c simulator.Command) *rollout.Reply {
			if c.Text == "in" {
				return &rollout.Reply{Code: 1}
			}
			return nil
		}
	}
	alone := withPlay(loadBalancedPlay(), simulator.Module())
	for name, c := range map[string]struct {
		first func(*simulator.Bastion)
		plays []func(*rollout.Run)
		did   string // tasks that the next two runs carry out
	}{
		"killed when it is back":      {killAt("wait for boot", event.StepEnded), []func(*rollout.Run){alone}, "[undrain in] [undrain in]"},
		"killed in the post-task":     {killAt("in", event.StepStarted), []func(*rollout.Run){alone}, "[undrain in] [undrain in]"},
		"killed before it reboots":    {killAt("drain", event.StepEnded), []func(*rollout.Run){alone}, "[out drain undrain in] [undrain in]"},
		"the post-task failed":        {failing, []func(*rollout.Run){alone}, "[undrain in] [undrain in]"},
		"an earlier play has it, too": {failing, []func(*rollout.Run){alone, withPlay(engine.Play{Tasks: []engine.Task{tellTask("more")}})}, "[undrain in] [undrain in more]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(simulator.Fleet(0, 1))
				first := site.Bastion("run-1")
				c.first(first)
				applyRun(first, c.plays...)
				time.Sleep(time.Hour)
				second := site.Bastion("run-2")
				failing(second)
				failOnErrors(t, checkEnd(applyRun(second, append(c.plays, successorOf(first))...), engine.ExitFailed, "in: exit status 1"))
				time.Sleep(time.Hour)
				third := site.Bastion("run-3")
				end := applyRun(third, append(c.plays, successorOf(second))...)
				failOnErrors(t, checkConverged(site), checkEnd(end, engine.ExitOK))
				if did := fmt.Sprint(commandsOf(second), commandsOf(third)); did != c.did {
					t.Errorf("did %s, not %s", did, c.did)
				}
				failOnErrors(t, checkEnd(applyRun(site.Bastion("run-4"), c.plays...), engine.ExitOK))
			})
		})
	}
}

// TestTasksAreNotDoneAgainBeforeAFallback checks that the reboot in place of a
// failed action does not repeat the tasks before that action. Later tasks run
// once.
func TestTasksAreNotDoneAgainBeforeAFallback(t *testing.T) {
	for _, want := range []string{"restart-2", "reload-2", "drain-restart-2"} {
		synctest.Test(t, func(t *testing.T) {
			site := siteWanting(0, 1, want)
			changeAll(site, actFails)
			b := site.Bastion("run-1")
			config := matchingTask(engine.ConfigTask)
			failOnErrors(t, checkEnd(applyRun(b,
				withPlay(engine.Play{PreTasks: []engine.Task{tellTask("pre")}, Tasks: []engine.Task{disruptingTask("m", "migrate"), config}, PostTasks: []engine.Task{tellTask("post")}}, simulator.Settings()),
				withPlay(engine.Play{PreTasks: []engine.Task{tellTask("pre2")}, Tasks: []engine.Task{disruptingTask("m", "migrate2"), config}}, simulator.Settings()),
			), engine.ExitOK), checkSettings(site, 1))
			drains := ""
			if want == "drain-restart-2" {
				drains = "drain "
			}
			if did := fmt.Sprint(commandsOf(b)); did != "[pre "+drains+"migrate drain undrain post pre2 migrate2]" {
				t.Errorf("%s: did %s", want, did)
			}
		})
	}
}
