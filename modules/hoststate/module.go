package hoststate

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/textutil"
	"holdfast/modules/shell"
)

// maxClock is the end of the year 9999 in Unix seconds. JSON cannot express a
// later time.
const maxClock = 253402300800

// orderedScript prints a third line if a reboot was ordered during this boot, and
// an inhibitor of logind may still delay it. The inhibitor of the kubelet lasts
// for minutes (shutdownGracePeriod). A reboot that has not started ten minutes
// after the order will not start.
const orderedScript = `if read -r at 2>/dev/null </run/holdfast/rebooting && read -r up rest </proc/uptime && [ "${up%%.*}" -lt $((at + 600)) ]; then echo ordered; fi`

// etcdProbeScript prints signs that etcd runs on the host, one a line: the
// manifest of a static pod, or a listener on a port of etcd. The probe of
// services finds units of etcd.
const etcdProbeScript = `for f in /etc/kubernetes/manifests/etcd*; do if [ -f "$f" ]; then echo "static pod $f"; fi; done
for p in "2379 094B" "2380 094C"; do
	if grep -qsE "^ *[0-9]+: [0-9A-F]+:${p#* } [0-9A-F]+:0000 0A " /proc/net/tcp /proc/net/tcp6; then echo "a listener on port ${p% *}"; fi
done`

// Module returns the module that gathers the facts of every host: its boot,
// clock, hold and units, and the roll-outs that are recorded on the host. It
// makes no changes.
func Module() engine.Module { return engine.Module{Name: "system", Observer: observer{}} }

type observer struct{}

// Probe returns the same commands for every host, except the version command,
// which the pool of the host sets.
func (observer) Probe(d engine.Desired) []engine.Command {
	return append([]engine.Command{
		{Name: "boot", Script: "cat /proc/sys/kernel/random/boot_id"},
		{Name: "clock", Script: "date -u +%s"},
		// In most states both commands exit with a status other than 0.
		{Name: "state", Script: "systemctl is-system-running || :\nsystemctl is-active " + hostscript.RebootUnit + " || :\n" + orderedScript},
		{Name: "hold", Script: hostscript.HoldProbeScript()},
		{Name: "failed units", Script: "systemctl list-units --state=failed --plain --no-legend --no-pager --full"},
		// The probe does not use list-unit-files. That command makes systemd read
		// all unit files, which would take most of the time of the probe.
		{Name: "services", Script: "systemctl show --property=Id,SubState,UnitFileState --state=running '*.service'"},
		{Name: "etcd", Script: etcdProbeScript},
		{Name: "stage unit", Script: "systemctl show --property=LoadState,ActiveState " + hostscript.StageUnit},
	}, memoryProbe(d.VersionCommand)...)
}

// Read adds the output of the probes to the facts.
func (observer) Read(_ engine.Desired, o engine.Outputs, f engine.Facts) engine.Facts {
	text := func(name string) string {
		out, problem := shell.Output(o, name)
		if problem != "" {
			f.Problems = shell.AppendProblem(f.Problems, problem)
		}
		return out
	}
	f.BootID = strings.TrimSpace(text("boot"))
	if s, err := strconv.ParseUint(strings.TrimSpace(text("clock")), 10, 64); err == nil && s < maxClock {
		f.Clock = time.Unix(int64(s), 0).UTC()
	} else {
		f.Problems = shell.AppendProblem(f.Problems, "clock: no time of this age")
	}
	f.Stopping = isStopping(text("state"))
	f.Hold, f.HoldProblem = hostscript.ReadHold(o["hold"])
	f.Failed = unitNames(text("failed units"))
	f.Running = enabledServices(text("services"))
	f.Etcd = etcdSigns(o["services"].Stdout, text("etcd"))
	if unit := parseProperties(text("stage unit")); unit["LoadState"] != "not-found" {
		f.StageUnit = unit["ActiveState"]
	}
	return readMemory(o, f)
}

// maxEtcdSigns is the largest number of signs of etcd in the facts.
const maxEtcdSigns = 4

func etcdSigns(services, looked string) []string {
	var signs []string
	for line := range strings.Lines(services) {
		if unit, ok := strings.CutPrefix(strings.TrimSpace(line), "Id=etcd"); ok {
			signs = append(signs, "etcd"+textutil.Printable(unit)+" runs")
		}
	}
	for line := range strings.Lines(looked) {
		signs = append(signs, textutil.Printable(strings.TrimSpace(line)))
	}
	return signs[:min(maxEtcdSigns, len(signs))]
}

// isStopping returns true as soon as a reboot is ordered, before systemd knows about the reboot.
func isStopping(states string) bool {
	lines := strings.Split(strings.TrimSpace(states), "\n")
	return lines[0] == "stopping" || slices.ContainsFunc(lines[1:], func(s string) bool {
		return slices.Contains([]string{"active", "activating", "deactivating", "reloading", "ordered"}, s)
	})
}
