package simulator

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/engine"
)

const factsScript = "simulator facts"

func allModules() []engine.Module { return []engine.Module{Module(), Settings()} }

// Module returns the module that updates the OS of hosts that exist only in
// memory.
func Module() engine.Module {
	return engine.Module{Name: "simulator", Observer: osModule{}, Changes: osModule{}, Rollback: osModule{}}
}

type osModule struct{}

// Probe returns the command that reads the facts.
func (osModule) Probe(engine.Desired) []engine.Command {
	return []engine.Command{{Name: "facts", Script: factsScript}}
}

// Read returns the facts that the host sent.
func (osModule) Read(_ engine.Desired, o engine.Outputs, f engine.Facts) engine.Facts {
	facts, err := decodeFacts(o["facts"].Stdout)
	if err != nil {
		f.Problems = append(f.Problems, err.Error())
		return f
	}
	facts.GatheredAt = f.GatheredAt
	return facts
}

// Diff compares the booted OS with the desired one.
func (osModule) Diff(d engine.Desired, f engine.Facts) (engine.Difference, error) {
	booted := f.Booted()
	switch {
	case d.OS == nil:
		return engine.Difference{}, nil
	case len(f.Problems) > 0:
		return engine.Difference{}, errors.New(strings.Join(f.Problems, "; "))
	case booted == nil:
		return engine.Difference{}, errors.New("nothing is booted")
	case booted.Digest == d.OS.Digest():
		return engine.Difference{}, nil
	}
	return engine.Difference{Steps: updateSteps, Changes: []engine.Change{{
		Module: "simulator", Resource: "os", Before: booted.Version, After: d.OS.Digest(), Rule: "an OS takes effect at a reboot",
		Actions: []engine.Action{{Type: engine.DrainAction}, {Type: engine.RebootAction}}, RebootClass: "os image",
	}}}, nil
}

// updateSteps returns the steps that stage the OS, unless it is staged already,
// those that reboot into it, and those that roll back.
func updateSteps(t engine.Target, _ []engine.Change) engine.Steps {
	digest := t.Desired.OS.Digest()
	steps := engine.Steps{Reboot: rebootSteps(t, digest), Rollback: rollbackSteps(t, digest)}
	if !t.Facts.Ready(digest, "") {
		stage := "simulator stage " + digest + " " + t.Run
		if h := t.Facts.Hold; h != nil && h.Kind == engine.RunHold {
			stage += " " + h.Run
		}
		steps.Stage = []engine.Step{{
			Name: "stage", On: t.Host.Name, Timeout: t.StageTimeout(),
			Do: engine.Op{Exec: &engine.Exec{Script: engine.NewScript(stage), Abort: engine.NewScript("simulator abort")}},
		}}
	}
	return steps
}

// plain stands for the running OS in an order to reboot.
const plain = "-"

func syncDisks(t engine.Target) engine.Step {
	return engine.Step{Name: "sync disks", On: t.Host.Name, Do: engine.Op{Exec: &engine.Exec{Script: engine.NewScript("simulator sync " + t.Run)}}, Timeout: 60e9}
}

// fallbackOf returns whether a host that cannot soft reboot may reboot in full instead.
func fallbackOf(t engine.Target) string {
	if t.Pool.Reboot.Soft == engine.RequireSoft || t.MustSurvive {
		return "no"
	}
	return "yes"
}

func rebootSteps(t engine.Target, digest string) []engine.Step {
	kind := cmp.Or(t.Reboot, engine.FullReboot)
	await := engine.AwaitBoot{BootID: t.Facts.BootID, Digest: digest}
	if kind != engine.FullReboot {
		await.Kind = kind
	}
	if digest == plain {
		await.Digest = ""
	}
	order := strings.Join([]string{"simulator reboot", digest, string(t.Facts.BootID), t.Run, string(kind), fallbackOf(t)}, " ")
	return []engine.Step{
		syncDisks(t),
		{Name: "reboot", On: t.Host.Name, Do: engine.Op{Exec: &engine.Exec{Script: engine.NewScript(order)}}, Timeout: 60e9, Reboots: true},
		{Name: "wait for boot", On: t.Host.Name, Do: engine.Op{AwaitBoot: &await}, Timeout: t.Pool.Timeouts.WithDefaults().Reboot},
	}
}

// encodeFacts returns the answer of a host to the probe: a line with its clock, and
// then the other facts, which change less often.
func encodeFacts(f engine.Facts) []byte {
	clock := f.Clock.Format(time.RFC3339Nano) + "\n"
	f.Clock = time.Time{}
	text, _ := json.Marshal(f) // facts always marshal
	return append([]byte(clock), text...)
}

// decodedFacts caches the decoded facts of each answer. The clock is not part of
// its keys: without the clock, hosts of all worlds send the same answers again and
// again.
var decodedFacts = struct {
	sync.Mutex
	byText map[string]engine.Facts
}{byText: map[string]engine.Facts{}}

const maxDecodedFacts = 10_000

func decodeFacts(answer string) (engine.Facts, error) {
	clock, text, _ := strings.Cut(answer, "\n")
	decodedFacts.Lock()
	f, ok := decodedFacts.byText[text]
	decodedFacts.Unlock()
	if !ok {
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			return engine.Facts{}, err
		}
		f.Deployments, f.Failed, f.Running = slices.Clip(f.Deployments), slices.Clip(f.Failed), slices.Clip(f.Running)
		f.Problems, f.Rejected = slices.Clip(f.Problems), slices.Clip(f.Rejected)
		decodedFacts.Lock()
		if len(decodedFacts.byText) == maxDecodedFacts {
			clear(decodedFacts.byText)
		}
		decodedFacts.byText[text] = f
		decodedFacts.Unlock()
	}
	err := f.Clock.UnmarshalText([]byte(clock))
	return f, err
}
