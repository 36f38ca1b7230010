package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast/cmd/holdfast-lab/internal/lab"
	"holdfast/engine/event"
)

// pursuit updates hosts from one version of the OS to the other and back,
// repeatedly, and interrupts the runs at events. If a run ends before its event
// happens, the next run waits for that event. So many events cost little more
// time than the roll-outs themselves.
type pursuit struct {
	*stage
	ts     *testscript.TestScript
	hosts  []string
	power  bool // a host loses power; if false, holdfast is killed
	target int  // version of the current roll-out: 1 or 2
	done   int  // completed roll-outs
}

// cmdPursue interrupts runs after each of these events: it kills holdfast, or
// cuts the power of the host of the event. It checks that the next runs finish
// the roll-out.
func cmdPursue(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || args[0] != "bastion" && args[0] != "power" {
		ts.Fatalf("usage: pursue bastion|power HOST,… EVENT…")
	}
	p := &pursuit{stage: stageOf(ts), ts: ts, hosts: strings.Split(args[1], ","), power: args[0] == "power", target: 2}
	for _, event := range args[2:] {
		p.strikeAt(event)
	}
	p.finishRollout()
}

// strikeAt interrupts a run at the next event of this kind. If the roll-out ends
// before, strikeAt starts the next one.
func (p *pursuit) strikeAt(event string) {
	for range 3 {
		host, came := p.runUntilEvent(event)
		if came {
			p.ts.Logf("pursue: %s of %s", event, host)
			return
		}
		p.checkRollout()
	}
	p.ts.Fatalf("pursue: no run comes to %q", event)
}

func (p *pursuit) runUntilEvent(awaited string) (host string, came bool) {
	before := p.journalFiles()
	cmdStart(p.ts, false, []string{"pursued", "apply", "--yes", p.targetFlag()})
	j := p.jobs["pursued"]
	came = p.followRun(j, before, func(e event.Event) bool {
		host = e.Host
		return matchesEvent(e, awaited)
	})
	if came {
		p.strikeHost(j, host)
		return host, true
	}
	if code := j.cmd.ProcessState.ExitCode(); code != 0 {
		text, _ := j.out.textSoFar()
		p.ts.Fatalf("pursue: a run that nothing happened to ended with %d before %q:\n%s", code, awaited, text)
	}
	delete(p.jobs, "pursued")
	return "", false
}

func (p *pursuit) strikeHost(j *job, host string) {
	if !p.power {
		cmdSignal(p.ts, false, []string{"pursued", "KILL"})
		delete(p.jobs, "pursued")
		return
	}
	h := p.findHost(p.ts, host)
	p.ts.Check(h.Power(p.ctx, lab.Lossy))
	p.ts.Check(h.Power(p.ctx, lab.On))
	select {
	case <-j.done:
	case <-p.ctx.Done():
	}
	text, _ := j.out.textSoFar()
	p.ts.Logf("[pursued printed]\n%s", text)
	if code := j.cmd.ProcessState.ExitCode(); !slices.Contains([]int{0, 3, 5}, code) {
		p.ts.Fatalf("pursue: after a power cut of %s the run ended with %d", host, code)
	}
	delete(p.jobs, "pursued")
	cmdUp(p.ts, false, p.hosts)
}

// checkRollout checks the result of a roll-out: every host runs its version and
// is not held. If only holdfast was killed, every host has rebooted once for each
// roll-out, in full or softly.
func (p *pursuit) checkRollout() {
	cmdBooted(p.ts, false, append([]string{fmt.Sprint("v", p.target)}, p.hosts...))
	cmdFree(p.ts, false, p.hosts)
	if p.done++; !p.power {
		for _, name := range p.hosts {
			p.ts.Check(p.checkReboots(p.findHost(p.ts, name)))
		}
	}
	p.target = 3 - p.target
}

// checkReboots counts the boots of a host and the soft reboots since its last boot.
func (p *pursuit) checkReboots(h *lab.Host) error {
	boots, err := p.countBoots(h)
	if err != nil {
		return err
	}
	text, err := h.Output(p.ctx, "systemctl show --value --property=SoftRebootsCount")
	if err != nil {
		return err
	}
	soft, _ := strconv.Atoi(text) // older versions of systemd print nothing
	if boots+soft != p.done {
		return fmt.Errorf("%s booted %d times and soft rebooted %d times since then, in %d roll-outs", h.Name, boots, soft, p.done)
	}
	return nil
}

func (p *pursuit) finishRollout() {
	cmdHoldfast(p.ts, false, []string{"0", "apply", "--yes", p.targetFlag()})
	update := p.targetFlag()
	p.checkRollout()
	cmdHoldfast(p.ts, false, []string{"0", "apply", "--yes", update})
	if out := p.ts.ReadFile("stdout"); !strings.Contains(out, "Nothing to do") {
		p.ts.Fatalf("pursue: there is something to do once more:\n%s", out)
	}
}

func (p *pursuit) targetFlag() string {
	return "--var=commit=" + p.ts.Getenv(fmt.Sprint("v", p.target))
}

func matchesEvent(e event.Event, awaited string) bool {
	kind, step, _ := strings.Cut(awaited, " ")
	return string(e.Type) == kind && (step == "" || e.Step == step)
}
