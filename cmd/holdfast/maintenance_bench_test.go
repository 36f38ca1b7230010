package main

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/conc/pool"
	gossh "golang.org/x/crypto/ssh"

	"holdfast/engine/redfish/redfishtest"
)

// BenchmarkHolds runs "holdfast holds" over hosts that answer from memory in this process. x-bare and x-bare-cpu are the ratios to
// logInProgram, a program that only logs in, and runs "true". Both parts include the start of a program, and the servers.
func BenchmarkHolds(b *testing.B) {
	const hosts = 1000
	f := newBenchFleet(b, hosts, false)
	p := newBenchProgram(b)
	p.writeSite(f, "")
	var holds, bare spent
	for b.Loop() {
		holds.addTimeOf(func() { holds.cpu += p.run("holds", "-i", p.dir) })
		b.StopTimer()
		bare.addTimeOf(func() { bare.cpu += p.logIn(1) })
		b.StartTimer()
		f.rounds += 2
	}
	b.ReportMetric(float64(holds.wall)/float64(bare.wall), "x-bare")
	b.ReportMetric(float64(holds.cpu)/float64(bare.cpu), "x-bare-cpu")
	p.report()
	f.checkVisitedOnce(b)
}

// BenchmarkPowerStatus runs "holdfast power status" over BMCs that answer from memory in this process. cpu-s and MB are
// processor time and largest size of the program alone.
func BenchmarkPowerStatus(b *testing.B) {
	const hosts = 1000
	service := &redfishtest.Service{User: "admin", Password: "secret-secret", Machines: map[string]redfishtest.Machine{}}
	server := httptest.NewUnstartedServer(service)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	b.Cleanup(server.Close)
	p := newBenchProgram(b)
	p.writeFile("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	p.writeFile("password", "secret-secret\n")
	text := "site \"bench\" {\n  ssh {\n    user = \"core\"\n    ssh_config = \"none\"\n  }\n}\npool \"worker\" {}\n"
	for i := range hosts {
		id := fmt.Sprint(i + 1)
		service.Machines[id] = &poweredHost{state: "On"}
		text += fmt.Sprintf("host \"worker-%04d\" {\n  address = \"10.0.%d.%d\"\n  pool = \"worker\"\n  bmc {\n    address = %q\n    system = %q\n    ca = \"ca.pem\"\n    user = \"admin\"\n    password_file = \"password\"\n  }\n}\n", i, i/250, i%250+1, strings.TrimPrefix(server.URL, "https://"), id)
	}
	p.writeFile("site.hcl", text)
	for b.Loop() {
		p.run("power", "status", "-i", p.dir)
	}
	p.report()
}

// benchProgram is the program with a site in a folder of its own.
type benchProgram struct {
	b    *testing.B
	dir  string
	cpu  time.Duration
	size int64 // largest size, in bytes
}

func newBenchProgram(b *testing.B) *benchProgram { return &benchProgram{b: b, dir: b.TempDir()} }

func (p *benchProgram) writeFile(name, text string) {
	p.b.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.b.Fatal(err)
	}
}

// writeSite writes the inventory of a fleet, whose pool also has the given lines, and the file logins of logIn.
func (p *benchProgram) writeSite(f *benchFleet, pool string) {
	first := f.inv.Hosts[0]
	os := f.desired[first.Name].OS
	text := fmt.Sprintf("site \"bench\" {\n  ssh {\n    user = \"core\"\n    become = \"sudo\"\n    ssh_config = \"none\"\n    known_hosts = %q\n    identity = %q\n  }\n}\n", first.SSH.KnownHosts[0], first.SSH.Identities[0])
	text += fmt.Sprintf("pool \"worker\" {\n  os {\n    driver = %q\n    remote = %q\n    ref = %q\n    commit = %q\n  }\n%s}\n", os.Driver, os.Remote, os.Ref, os.Commit, pool)
	for _, h := range f.inv.Hosts {
		text += fmt.Sprintf("host %q {\n  address = \"127.0.0.1\"\n  pool = \"worker\"\n  ssh { port = %d }\n}\n", h.Name, h.SSH.Port)
	}
	p.writeFile("site.hcl", text)
	var logins strings.Builder
	fmt.Fprintln(&logins, first.SSH.Identities[0])
	for _, s := range f.servers {
		fmt.Fprintf(&logins, "%s %s", s.Addr(), gossh.MarshalAuthorizedKey(s.HostKey()))
	}
	p.writeFile("logins", logins.String())
}

// run runs a command that must succeed, and returns its processor time.
func (p *benchProgram) run(args ...string) time.Duration {
	p.b.Helper()
	cpu, size := p.runOnce(args)
	p.cpu += cpu
	p.size = max(p.size, size)
	return cpu
}

// runOnce runs a program that must succeed. It returns its processor time, and its largest size in bytes.
func (p *benchProgram) runOnce(args []string) (cpu time.Duration, size int64) {
	p.b.Helper()
	c := exec.Command(os.Args[0])
	c.Args = append([]string{"holdfast"}, args...) // with this first argument, the test binary is the program
	c.Env = append(os.Environ(), "SSH_AUTH_SOCK=", "HOME="+p.dir, "XDG_STATE_HOME="+p.dir)
	var text bytes.Buffer
	c.Stdout, c.Stderr = &text, &text
	if err := c.Start(); err != nil {
		p.b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		select {
		case <-tick.C:
			size = max(size, peakSize(c.Process.Pid))
			continue
		case err := <-ended:
			tick.Stop()
			if err != nil {
				p.b.Fatalf("%v: %v\n%.2000s", args, err, text.String())
			}
		}
		break
	}
	return c.ProcessState.UserTime() + c.ProcessState.SystemTime(), size
}

// logIn runs logInProgram with the hosts in the file logins and so many sessions each, and returns its processor time.
func (p *benchProgram) logIn(times int) time.Duration {
	p.b.Helper()
	cpu, _ := p.runOnce([]string{"log-in-in-tests", filepath.Join(p.dir, "logins"), strconv.Itoa(times)})
	return cpu
}

// logInProgram logs in to hosts and runs "true" so many times on each, 64 hosts at a time. The first line of the file names the key, the others have an
// address and a host key.
func logInProgram(file, number string) {
	text, err := os.ReadFile(file)
	times, bad := strconv.Atoi(number)
	if err = errors.Join(err, bad); err != nil {
		log.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	pem, err := os.ReadFile(lines[0])
	if err != nil {
		log.Fatal(err)
	}
	key, err := gossh.ParsePrivateKey(pem)
	if err != nil {
		log.Fatal(err)
	}
	workers := pool.New().WithMaxGoroutines(64).WithErrors()
	for _, line := range lines[1:] {
		address, known, _ := strings.Cut(line, " ")
		workers.Go(func() error {
			hostKey, _, _, _, err := gossh.ParseAuthorizedKey([]byte(known))
			if err != nil {
				return err
			}
			return logIn(address, hostKey, key, times)
		})
	}
	if err := workers.Wait(); err != nil {
		log.Fatal(err)
	}
	os.Exit(0)
}

// peakSize returns the largest size of a process so far, in bytes. The usage of an ended process is no measure for it: it includes the size of
// this process, from which it was forked.
func peakSize(pid int) (size int64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if _, line, ok := strings.Cut(string(text), "VmHWM:"); ok {
		_, _ = fmt.Sscan(line, &size)
	}
	return size * 1024
}

func (p *benchProgram) report() {
	p.b.ReportMetric(p.cpu.Seconds()/float64(p.b.N), "cpu-s")
	p.b.ReportMetric(float64(p.size)/1e6, "MB")
}
