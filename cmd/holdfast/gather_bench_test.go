package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/sourcegraph/conc/pool"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"holdfast/engine"
	"holdfast/engine/clock"
	"holdfast/engine/connection"
	"holdfast/engine/planner"
	"holdfast/engine/remote"
	"holdfast/engine/remote/sshtest"
	"holdfast/engine/rollout"
	"holdfast/modules"
	"holdfast/modules/hostconfig/observe"
)

// BenchmarkGather reads the facts of whole fleets like every command: it connects
// to each host, sends all probes at once and reads the replies. x-bare is the
// ratio to the unavoidable work: a login and "true" on the same servers, with the
// same concurrency. The servers answer from memory in this process, so only the
// bastion does real work. x-bare-cpu is the same ratio in processor time, which a
// busy machine does not affect. The ratios and the allocations include the
// servers.
func BenchmarkGather(b *testing.B) {
	for _, n := range []int{1, 10, 100, 500} {
		for _, hashed := range []bool{false, true} {
			b.Run(fmt.Sprintf("hosts=%d/hashed=%t", n, hashed), func(b *testing.B) {
				f := newBenchFleet(b, n, hashed)
				var gather, bare spent
				b.ReportAllocs()
				for b.Loop() {
					gather.addTimeOf(func() { f.gatherFacts(b) })
					b.StopTimer()
					bare.addTimeOf(func() { f.logInBare(b) })
					b.StartTimer()
				}
				b.ReportMetric(float64(gather.wall)/float64(bare.wall), "x-bare")
				b.ReportMetric(float64(gather.cpu)/float64(bare.cpu), "x-bare-cpu")
				b.ReportMetric(float64(gather.cpu)/float64(b.N*n), "cpu-ns/host")
				f.checkVisitedOnce(b)
			})
		}
	}
}

// spent is elapsed and processor time.
type spent struct{ wall, cpu time.Duration }

func (s *spent) addTimeOf(f func()) {
	wall, cpu := time.Now(), processorTime()
	f()
	s.wall += time.Since(wall)
	s.cpu += processorTime() - cpu
}

func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// benchFleet is a fleet of hosts that answer from memory.
type benchFleet struct {
	inv     engine.Inventory
	desired map[string]engine.Desired
	servers []*sshtest.Server
	rounds  int
}

func newBenchFleet(b *testing.B, n int, hashed bool) *benchFleet {
	want := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: strings.Repeat("1", 64)}}
	reply := recordedOutputs(b, want)
	execs := make([]sshtest.Exec, n)
	for i := range execs {
		reply.boot = fmt.Sprintf("6919b4ee-2319-4ba2-95ce-%012d", i) // hosts with equal boot IDs would count as one machine
		execs[i] = reply.answerExec
	}
	return newFleetOf(b, want, execs, hashed)
}

// newFleetOf returns a fleet with a host for each exec. The host runs commands with it.
func newFleetOf(b *testing.B, want engine.Desired, hosts []sshtest.Exec, hashed bool) *benchFleet {
	f := &benchFleet{desired: map[string]engine.Desired{}, inv: engine.Inventory{Site: "bench", Pools: []engine.Pool{{Name: "worker"}}}}
	key := sshtest.Start(b, sshtest.Config{}) // all hosts accept the same key
	var known strings.Builder
	for i, exec := range hosts {
		s := sshtest.Start(b, sshtest.Config{Exec: exec, Authorized: []ssh.PublicKey{key.Key.PublicKey()}})
		f.servers = append(f.servers, s)
		address := knownhosts.Normalize(s.Addr())
		if hashed {
			address = knownhosts.HashHostname(address)
		}
		fmt.Fprintf(&known, "%s %s", address, ssh.MarshalAuthorizedKey(s.HostKey()))
		name := fmt.Sprintf("worker-%03d", i)
		f.desired[name] = want
		f.inv.Hosts = append(f.inv.Hosts, engine.Host{Name: name, Address: "127.0.0.1", Pool: "worker", SSH: engine.SSH{
			User: "core", Port: s.Port(), Identities: []string{key.Identity}, SSHConfig: "none", Become: "sudo",
			KnownHosts: []string{filepath.Join(key.Dir, "all")},
		}})
	}
	if err := os.WriteFile(filepath.Join(key.Dir, "all"), []byte(known.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	b.Setenv("SSH_AUTH_SOCK", "")
	return f
}

// gatherFacts gathers facts like plan and status.
func (f *benchFleet) gatherFacts(b *testing.B) {
	f.rounds++
	secrets, err := (&siteOpener{console: console{soft: b.Context()}}).newSecrets(f.inv)
	if err != nil {
		b.Fatal(err)
	}
	hosts := connection.NewHosts(remote.Options{Secrets: secrets}, observe.ReadFileScript)
	defer hosts.Close()
	run := rollout.Run{Options: rollout.Options{Request: planner.Request{Inventory: f.inv, Desired: f.desired, Modules: modules.All()}}, Ports: rollout.Ports{Hosts: hosts, Sink: discard{}, Clock: clock.Real{}}}
	for name, facts := range run.GatherHosts(b.Context()) {
		if !facts.Reached() || facts.Booted() == nil {
			b.Fatalf("%s: %+v", name, facts)
		}
	}
}

// logInBare logs in to every host with the SSH library alone, and runs "true"
// once.
func (f *benchFleet) logInBare(b *testing.B) {
	f.rounds++
	workers := pool.New().WithMaxGoroutines(64).WithErrors()
	for _, s := range f.servers {
		workers.Go(func() error { return logIn(s.Addr(), s.HostKey(), s.Key, 1) })
	}
	if err := workers.Wait(); err != nil {
		b.Fatal(err)
	}
}

// logIn logs in to a host and runs "true" so many times.
func logIn(address string, hostKey ssh.PublicKey, key ssh.Signer, times int) error {
	c, err := ssh.Dial("tcp", address, &ssh.ClientConfig{
		User: "core", Auth: []ssh.AuthMethod{ssh.PublicKeys(key)},
		HostKeyCallback: ssh.FixedHostKey(hostKey), HostKeyAlgorithms: []string{ssh.KeyAlgoED25519},
	})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	for range times {
		session, err := c.NewSession()
		if err != nil {
			return err
		}
		if err := session.Run("true"); err != nil {
			return err
		}
	}
	return nil
}

// checkVisitedOnce checks that in each round every host received one connection
// and one command.
func (f *benchFleet) checkVisitedOnce(b *testing.B) {
	for i, s := range f.servers {
		if s.Connections() != f.rounds || s.Sessions() != f.rounds {
			b.Errorf("%s: %d connections and %d commands in %d rounds", f.inv.Hosts[i].Name, s.Connections(), s.Sessions(), f.rounds)
		}
	}
}

// reply is the recorded output of a host of the lab. The mark in it is replaced
// by the mark of the probe, and anyBoot by the boot ID of the host.
type reply struct{ stdout, stderr, boot string }

const (
	anyMark = "=MARK="
	anyBoot = "=BOOT="
)

// recordedOutputs joins the recorded outputs in the test cases of the modules.
func recordedOutputs(b *testing.B, want engine.Desired) reply {
	outputs := readRecorded(b)
	outputs["boot"] = anyBoot + "\n"
	outputs[observe.ProbeName] = noConfigOutput()
	var r reply
	i := 0
	for _, m := range modules.All() {
		for _, c := range m.Observer.Probe(want) {
			out, code := outputs[c.Name], 0
			if o, ok := outputs[c.Name+" (exit 1)"]; ok {
				out, code = o, 1
			}
			if o, ok := outputs[c.Name+" (exit 3)"]; ok {
				out, code = o, 3
			}
			r.stdout += fmt.Sprintf("%s\n%s %d %d\n", out, anyMark, i, code)
			r.stderr += fmt.Sprintf("%s\n%s %d\n", outputs[c.Name+" stderr"], anyMark, i)
			i++
		}
	}
	return r
}

// readRecorded reads the recorded outputs by their names in the test cases of the modules.
func readRecorded(b *testing.B) map[string]string {
	outputs := map[string]string{}
	for _, path := range []string{"hoststate/testdata/healthy.txtar", "osimage/testdata/ostree-behind.txtar"} {
		archive, err := txtar.ParseFile(filepath.Join("../../modules", path))
		if err != nil {
			b.Fatal(err)
		}
		for _, file := range archive.Files {
			outputs[file.Name] = string(file.Data)
		}
	}
	return outputs
}

var markLine = regexp.MustCompile(`=holdfast-[0-9a-f]+`)

// answerExec answers two commands: "true", and the launcher that receives a probe
// script.
func (r reply) answerExec(line string, stdin io.Reader, stdout, stderr io.Writer) int {
	if line == "true" {
		return 0
	}
	var in bytes.Buffer
	if _, err := io.Copy(&in, stdin); err != nil {
		return 1
	}
	size, script, _ := bytes.Cut(in.Bytes(), []byte("\n"))
	mark := markLine.Find(script)
	if n, err := strconv.Atoi(string(size)); err != nil || n != len(script) || mark == nil {
		return 125
	}
	for w, text := range map[io.Writer]string{stdout: r.stdout, stderr: r.stderr} {
		if _, err := io.WriteString(w, "holdfast-ready\n"+strings.NewReplacer(anyMark, string(mark), anyBoot, r.boot).Replace(text)); err != nil {
			return 1
		}
	}
	return 0
}
