package hoststate

import (
	_ "embed" // embeds scripts
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/resource"
	"holdfast/engine/textutil"
	"holdfast/modules/shell"
)

// maxClock is the end of the year 9999 in Unix seconds. JSON cannot express a
// later time.
const maxClock = 253402300800

//go:embed sh/ordered.sh
var orderedScript string

//go:embed sh/etcd.sh
var etcdScript string

//go:embed sh/units.sh
var unitsScript string

// Module returns the module that gathers the facts of every host: its boot,
// clock, hold and units, and the roll-outs that are recorded on the host. It
// makes no changes.
func Module() engine.Module { return engine.Module{Name: "system", Observer: observer{}} }

// HoldModule returns the module that gathers only the boot, the clock and the hold of a host.
func HoldModule() engine.Module { return engine.Module{Name: "system", Observer: holdObserver{}} }

type holdObserver struct{}

// Probe returns the same commands for every host.
func (holdObserver) Probe(engine.Desired) []engine.Command {
	return []engine.Command{
		{Name: "boot", Shared: true, Script: hostscript.BootIDScript + `read_boot_id
[ -n "$bootid" ] && echo "$bootid"`},
		{Name: "clock", Script: "date -u +%s"},
		{Name: "reboot", Script: orderedScript},
		{Name: "hold", Script: hostscript.HoldProbeScript()},
	}
}

// Read adds the output of the probes to the facts.
func (holdObserver) Read(_ engine.Desired, o engine.Outputs, f engine.Facts) engine.Facts {
	boot, problems := readText(o, "boot", f.Problems)
	f.BootID, f.Problems = readBootID(boot, problems)
	clock, problems := readText(o, "clock", f.Problems)
	f.Clock, f.Problems = readClock(clock, problems)
	ordered, problems := readText(o, "reboot", f.Problems)
	f.Stopping, f.Problems = strings.TrimSpace(ordered) == "ordered", problems
	f.Hold, f.HoldProblem = hostscript.ReadHold(o["hold"])
	return f
}

// readText returns the output of a probe. If the probe has failed, it returns a further problem.
func readText(o engine.Outputs, probe string, problems []string) (text string, all []string) {
	out, problem := shell.Output(o, probe)
	if problem != "" {
		problems = shell.AppendProblem(problems, problem)
	}
	return out, problems
}

type observer struct{}

// Probe returns the same commands for every host, except the version command, which the
// pool of the host sets, and the services that the pool keeps.
func (observer) Probe(d engine.Desired) []engine.Command {
	return slices.Concat(holdObserver{}.Probe(d), []engine.Command{
		{Name: "units", Shared: true, Script: hostscript.Assign([][2]string{{"stageunit", hostscript.StageUnit}, {"rebootunit", hostscript.RebootUnit}}) + unitsScript},
		{Name: "etcd", Script: systemProcessScript + etcdScript},
		{Name: "starts", Script: hostscript.Assign([][2]string{{"holdfile", engine.HoldPath}}) + startsScript},
		{Name: "inhibitors", Script: inhibitorsScript},
		{Name: "reboot kinds", Script: rebootKindsScript},
		{Name: "survivors", Script: hostscript.SurvivorsScript() + hostscript.Assign([][2]string{{"wanted", strings.Join(wantedSurvivors(d), " ")}}) + survivorsScript},
	}, memoryProbe(d.VersionCommand))
}

// Read adds the output of the probes to the facts.
func (observer) Read(d engine.Desired, o engine.Outputs, f engine.Facts) engine.Facts {
	f = holdObserver{}.Read(d, o, f)
	text, problems := readText(o, "units", f.Problems)
	units := parseUnits(text)
	signs, problems := readText(o, "etcd", problems)
	f.Problems = problems
	f.Failed, f.Running = failedUnits(units), enabledServices(units)
	f.Stopping = f.Stopping || isStopping(units)
	f.StageUnit = activeState(units, hostscript.StageUnit)
	f.Etcd, f.EtcdServers = readEtcdSigns(units, signs)
	f.Unsettled = unsettledServices(o["starts"].Stdout)
	f.Inhibitors = readInhibitors(o["inhibitors"].Stdout)
	f.Reboots = readRebootKinds(o["reboot kinds"].Stdout)
	f = readSurvivors(o["survivors"].Stdout, f)
	return readMemory(o, f)
}

func readClock(text string, problems []string) (time.Time, []string) {
	s, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	if err != nil || s >= maxClock {
		return time.Time{}, shell.AppendProblem(problems, "clock: no time of this age")
	}
	return time.Unix(int64(s), 0).UTC(), problems
}

// readBootID keeps a boot that is not known apart from every other one.
func readBootID(text string, problems []string) (resource.BootID, []string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", problems // the probe has failed, or the host is still booting
	}
	boot, err := resource.ParseBootID(text)
	if err != nil {
		problems = shell.AppendProblem(problems, "boot: "+err.Error())
	}
	return boot, problems
}

// maxEtcdSigns is the largest number of signs of etcd, and of servers of etcd, in the facts.
const maxEtcdSigns = 4

// readEtcdSigns returns the signs of etcd, and the places in which its servers run.
func readEtcdSigns(units []unit, looked string) (signs, servers []string) {
	for _, u := range units {
		if u.isRunningService() && strings.HasPrefix(u.name, "etcd") {
			signs = append(signs, textutil.Printable(u.name)+" runs")
		}
	}
	for line := range strings.Lines(looked) {
		line = strings.TrimSpace(line)
		place, isServer := strings.CutPrefix(line, "server ")
		switch {
		case !isServer:
			signs = append(signs, textutil.Printable(line))
		case isName(place) && !slices.Contains(servers, place):
			servers = append(servers, place)
		}
	}
	slices.Sort(servers)
	return signs[:min(maxEtcdSigns, len(signs))], servers[:min(maxEtcdSigns, len(servers))]
}
