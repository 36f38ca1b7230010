package scenario

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast/engine/event"
)

// killer repeats a command of holdfast, and kills each run at the first event at
// which it has killed no run before. So every event is met once, also if a run
// repeats or skips steps.
type killer struct {
	pursuit // for the journals
	name    string
	struck  []string // events in their order, such as "step-ended add learner etcd-1"
}

// maxKills bounds the runs. A change of the members has far fewer events.
const maxKills = 200

// cmdKillEach kills a command after each of its events, until a run has only
// events that were met before. This run must end with the exit code.
func cmdKillEach(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: killeach NAME CODE ARGUMENT…")
	}
	k := &killer{pursuit: pursuit{stage: stageOf(ts), ts: ts}, name: args[0]}
	for k.strikeNext(args[2:]) {
		if len(k.struck) > maxKills {
			ts.Fatalf("killeach: no end after %d runs", maxKills)
		}
	}
	ts.Logf("killed after %d events: %s", len(k.struck), strings.Join(k.struck, ", "))
	ts.Check(os.WriteFile(ts.MkAbs(k.name+".events"), []byte(strings.Join(k.struck, "\n")+"\n"), 0o600))
	j := k.jobs[k.name]
	text, _ := j.out.textSoFar()
	if got := strconv.Itoa(j.cmd.ProcessState.ExitCode()); !slices.Contains(strings.Split(args[1], "|"), got) {
		ts.Fatalf("killeach: after %d kills, %s ended with exit code %s, not %s:\n%s", len(k.struck), k.name, got, args[1], text)
	}
	ts.Logf("[the last %s printed]\n%s", k.name, text)
	delete(k.jobs, k.name)
}

// strikeNext starts a run, and kills it at the first new event. It reports
// whether there was one.
func (k *killer) strikeNext(args []string) bool {
	before := k.journalFiles()
	cmdStart(k.ts, false, append([]string{k.name}, args...))
	j := k.jobs[k.name]
	found := k.followRun(j, before, func(e event.Event) bool {
		name := strings.Join(strings.Fields(string(e.Type)+" "+e.Step+" "+e.Host), " ")
		if slices.Contains(k.struck, name) {
			return false
		}
		k.struck = append(k.struck, name)
		return true
	})
	if found {
		k.killRun(j)
	}
	return found
}

// killRun kills a run, and keeps the output of the first.
func (k *killer) killRun(j *job) {
	_ = j.cmd.Process.Kill() // it may have ended with this event
	<-j.done
	if text, _ := j.out.textSoFar(); len(k.struck) == 1 {
		k.ts.Check(os.WriteFile(k.ts.MkAbs(k.name+".out"), []byte(text), 0o600))
	}
}
