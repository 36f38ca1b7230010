package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/remote/sshtest"
	"holdfast/engine/resource"
	"holdfast/modules"
)

// BenchmarkRollOut runs "holdfast apply" over 1,000 hosts, 50 at a time: it stages and reboots each host, through real
// SSH connections, and ends when all hosts match. The hosts answer from memory in this process. x-logins is the ratio
// of processor time to a program that makes as many logins as the run, each with "true", on the same servers; x-scripts is the ratio to the
// same logins with as many sessions as the run had scripts. All of them include the servers. MB is the largest size of the program alone;
// program-cpu-s and servers-cpu-s are the parts of the numerator.
func BenchmarkRollOut(b *testing.B) {
	for _, hosts := range []int{100, 1000} {
		b.Run(fmt.Sprintf("hosts=%d", hosts), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				measureRollOut(b, hosts)
				b.StartTimer()
			}
		})
	}
}

func measureRollOut(b *testing.B, hosts int) {
	const abreast = 50
	f, fleet := newRolledFleet(b, hosts)
	p := newBenchProgram(b)
	p.writeSite(f, fmt.Sprintf("  max_unavailable = %d\n", abreast))
	var apply, logins, scripts spent
	b.StartTimer()
	apply.addTimeOf(func() { apply.cpu += p.run("apply", "--yes", "-i", p.dir) })
	b.StopTimer()
	connections, sessions := 0, 0
	for i, s := range f.servers {
		if host := fleet[i]; !host.hasBootedNew() || host.hold != "" {
			b.Fatalf("%s is not updated: %+v", f.inv.Hosts[i].Name, host)
		}
		connections += s.Connections()
		sessions += s.Sessions()
	}
	rounds := max(1, connections/hosts)
	for range rounds {
		logins.addTimeOf(func() { logins.cpu += p.logIn(1) })
		scripts.addTimeOf(func() { scripts.cpu += p.logIn(sessions / hosts / rounds) })
	}
	b.ReportMetric(float64(apply.cpu)/float64(logins.cpu), "x-logins")
	b.ReportMetric(float64(apply.cpu)/float64(scripts.cpu), "x-scripts")
	b.ReportMetric(p.cpu.Seconds(), "program-cpu-s")
	b.ReportMetric((apply.cpu - p.cpu).Seconds(), "servers-cpu-s")
	b.ReportMetric(float64(connections)/float64(hosts), "logins/host")
	b.ReportMetric(float64(sessions)/float64(hosts), "scripts/host")
	b.ReportMetric(float64(p.size)/1e6, "MB")
}

// rolledHost is a host that answers the scripts of an OS update from memory, with outputs that were recorded on hosts
// of the lab. Its reboot ends the connection and begins another boot.
type rolledHost struct {
	server *sshtest.Server
	number int
	probes []string          // names of the commands of a probe, in order
	record map[string]string // recorded outputs

	mu                           sync.Mutex
	boots                        int
	booted, staged               string
	hold, unproven, roll, locked string
	updated                      string
}

// The OS versions of the recorded outputs.
const (
	recordedOld = "c9de36d581a8b45e21af60d4a816aa0df5c1aeb98043a92cabc5c84491b6c521"
	recordedNew = "fe89705931c26b42a143d93a11e4c6b0e5dd84e0ea4fa90387153a97ee944b2f"
)

func newRolledFleet(b *testing.B, n int) (*benchFleet, []*rolledHost) {
	want := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/trixie/x86_64", Commit: recordedNew}, Config: &resource.Config{}, NoDocuments: true}
	var names []string
	for _, m := range modules.All() {
		for _, c := range m.Observer.Probe(want) {
			names = append(names, c.Name)
		}
	}
	record := readRecorded(b)
	record["configuration"] = emptyConfiguration()
	record["units"] = strings.ReplaceAll(record["units"], "etcd.service", "worker.service")
	fleet, execs := make([]*rolledHost, n), make([]sshtest.Exec, n)
	for i := range fleet {
		fleet[i] = &rolledHost{number: i, probes: names, record: record, booted: recordedOld}
		execs[i] = fleet[i].answerExec
	}
	f := newFleetOf(b, want, execs, false)
	for i, s := range f.servers {
		fleet[i].server = s
	}
	return f, fleet
}

// emptyConfiguration returns the output of a probe for an inventory without documents.
func emptyConfiguration() string {
	text := ""
	for _, section := range []string{"asked", "nodes", "digests", "targets", "parents", "readonly", "fleeting", "contents", "originals", "units", "states", "passwd", "group", "keys", "logins", "record", "end"} {
		text += "== " + section + "\n"
		if section == "asked" {
			text += resource.Digest([]byte("\n")) + "  -\n"
		}
	}
	return text
}

func (h *rolledHost) hasBootedNew() bool { return h.booted == recordedNew && h.boots == 1 }

// answerExec answers "true", and the scripts of an OS update.
func (h *rolledHost) answerExec(line string, stdin io.Reader, stdout, stderr io.Writer) int {
	if line == "true" {
		return 0
	}
	var in bytes.Buffer
	if _, err := io.Copy(&in, stdin); err != nil {
		return 1
	}
	_, script, _ := strings.Cut(in.String(), "\n")
	out, errs, code := h.answerScript(script)
	for w, text := range map[io.Writer]string{stdout: out, stderr: errs} {
		if _, err := io.WriteString(w, "holdfast-ready\n"+text); err != nil {
			return 1
		}
	}
	return code
}

// answerScript recognises a script by words that only scripts of its kind have.
func (h *rolledHost) answerScript(script string) (stdout, stderr string, code int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	mark := markLine.FindString(script)
	has := func(words string) bool { return strings.Contains(script, words) }
	switch {
	case mark != "":
		stdout, stderr = h.answerProbe(mark)
	case has("# Takes, renews or adopts a hold"):
		h.takeHold(script)
		stdout = h.hold
	case has("# Ends the hold of the run."):
		h.hold, h.updated = "", time.Now().UTC().Format(time.RFC3339)
	case has("# Stages the planned OS"):
		h.staged, h.locked = recordedNew, "locked\n"
		stdout = "staged and locked: " + recordedNew + "\n"
	case has("# Checks that the staged deployment may take effect"):
		stdout = "rebooting\n"
		time.AfterFunc(20*time.Millisecond, h.rebootHost) // after the answer
	case has("# Prints the beginning of the hold file"):
		if stdout = h.hold; h.hold == "" {
			code = hostscript.NoHold
		}
	} // all others, such as one that syncs disks, print nothing
	return stdout, stderr, code
}

func (h *rolledHost) rebootHost() {
	h.mu.Lock()
	h.boots++
	h.booted, h.staged, h.locked = h.staged, "", ""
	h.mu.Unlock()
	h.server.Drop()
}

// takeHold makes the hold as the script does.
func (h *rolledHost) takeHold(script string) {
	now := time.Now().UTC()
	h.hold = fmt.Sprintf("{\n%s\n\"acquired\":%q,\n\"expires\":%q,\n\"renewed\":%q\n}\n", valueOf(script, "head"),
		now.Format(time.RFC3339), now.Add(time.Hour).Format(time.RFC3339), now.Format(time.RFC3339))
	if note := valueOf(script, "note"); note != "" {
		h.roll = "{\n" + note + "\n}\n"
	}
}

// valueOf returns the value of a variable of a script. The values of the bench contain no quotes.
func valueOf(script, name string) string {
	_, rest, _ := strings.Cut(script, "\n"+name+"='")
	value, _, _ := strings.Cut(rest, "'\n")
	return value
}

func (h *rolledHost) answerProbe(mark string) (stdout, stderr string) {
	var out, errs strings.Builder
	outputs := maps.Clone(h.record)
	outputs["boot"] = fmt.Sprintf("6919b4ee-2319-4ba2-95ce-%08d%04d\n", h.number, h.boots)
	outputs["clock"] = strconv.FormatInt(time.Now().Unix(), 10) + "\n"
	outputs["ostree lock"] = h.locked
	outputs["ostree status"] = h.writeDeployments()
	for name, text := range map[string]string{"hold": h.hold, "roll-out": h.roll, "updated": h.updated, "unproven": h.unproven} {
		delete(outputs, name+" (exit 3)")
		if outputs[name] = text; text == "" {
			outputs[name+" (exit 3)"] = ""
		}
	}
	for i, name := range h.probes {
		code, text := 0, outputs[name]
		for _, status := range []int{1, 3} {
			if o, ok := outputs[fmt.Sprintf("%s (exit %d)", name, status)]; ok {
				code, text = status, o
			}
		}
		fmt.Fprintf(&out, "%s\n%s %d %d\n", text, mark, i, code)
		fmt.Fprintf(&errs, "%s\n%s %d\n", outputs[name+" stderr"], mark, i)
	}
	return out.String(), errs.String()
}

func (h *rolledHost) writeDeployments() string {
	const entry = " lab %s.0%s\n    Version: %s\n    origin refspec: lab:lab/trixie/x86_64\n"
	version := map[string]string{recordedOld: "1.0", recordedNew: "2.0"}
	text := ""
	if h.staged != "" {
		text = fmt.Sprintf(" "+entry, h.staged, " (staged)", version[h.staged])
	}
	return text + fmt.Sprintf("*"+entry, h.booted, "", version[h.booted])
}
