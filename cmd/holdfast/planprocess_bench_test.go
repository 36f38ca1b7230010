package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"holdfast/engine"
	"holdfast/engine/remote/sshtest"
	"holdfast/engine/resource"
)

// noConfigOutput is the output of the probe of the configuration on a host without one.
func noConfigOutput() string {
	var out strings.Builder
	for _, part := range strings.Fields("asked nodes digests targets parents readonly fleeting contents originals units states passwd group keys logins record end") {
		out.WriteString("== " + part + "\n")
		if part == "asked" {
			out.WriteString(resource.Digest([]byte("\n")) + "  -\n")
		}
	}
	return out.String()
}

// BenchmarkPlanProcess runs plan as a program of its own: it logs in to 10,000 hosts, plans another OS for all of them and prints
// the plan. The servers answer from the memory of this process, so the numbers are those of the program alone.
func BenchmarkPlanProcess(b *testing.B) {
	const hosts = 10_000
	want := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: strings.Repeat("1", 64)}}
	want.Config = &resource.Config{} // the program asks each host for its record of an earlier configuration, too
	reply := recordedOutputs(b, want)
	key := sshtest.Start(b, sshtest.Config{}) // all hosts accept the same key
	var known, inventory bytes.Buffer
	fmt.Fprintf(&inventory, "site \"bench\" {\n  ssh {\n    user = \"core\"\n    become = \"sudo\"\n    ssh_config = \"none\"\n    identity = [%q]\n    known_hosts = [\"known\"]\n  }\n}\n", key.Identity)
	fmt.Fprintf(&inventory, "pool \"worker\" {\n  max_unavailable = \"10%%\"\n  os {\n    driver = \"ostree\"\n    remote = \"lab\"\n    ref = \"lab/stable\"\n    commit = %q\n  }\n}\n", want.OS.Commit)
	for i := range hosts {
		reply.boot = fmt.Sprintf("6919b4ee-2319-4ba2-95ce-%012d", i)
		s := sshtest.Start(b, sshtest.Config{Exec: reply.answerExec, Authorized: []ssh.PublicKey{key.Key.PublicKey()}})
		fmt.Fprintf(&known, "[127.0.0.1]:%d %s", s.Port(), ssh.MarshalAuthorizedKey(s.HostKey()))
		fmt.Fprintf(&inventory, "host \"worker-%05d\" {\n  address = \"127.0.0.1\"\n  pool = \"worker\"\n  zone = \"rack-%d\"\n  ignore_etcd = true\n  ssh {\n    port = %d\n  }\n}\n", i, i/50, s.Port())
	}
	dir := b.TempDir()
	for name, text := range map[string]*bytes.Buffer{"site.hcl": &inventory, "known": &known} {
		if err := os.WriteFile(filepath.Join(dir, name), text.Bytes(), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for name, flags := range map[string][]string{"text": nil, "json": {"--json"}} {
		b.Run(name, func(b *testing.B) {
			var total, cpu float64
			var most, peak, code, written int
			for b.Loop() {
				p := exec.Command(os.Args[0])
				p.Args = append([]string{"holdfast", "measure-in-tests", "plan", "-i", dir}, flags...) // with this first argument, the test binary is the program
				p.Env = append(os.Environ(), "HOME="+dir, "SSH_AUTH_SOCK=")
				out, err := p.Output()
				printed, measured, _ := bytes.Cut(out, []byte("measured: "))
				if _, scanErr := fmt.Sscanf(string(measured), "exit %d, %d MiB, %f s", &code, &peak, &cpu); scanErr != nil || code != int(engine.ExitWork) {
					b.Fatalf("exit %d: %v, %v: %.2000s", code, err, scanErr, out)
				}
				total, most, written = total+cpu, max(most, peak), len(printed)
			}
			b.ReportMetric(total/float64(b.N), "cpu-s/op")
			b.ReportMetric(float64(most<<20)/1e6, "peak-RSS-MB")
			b.ReportMetric(float64(written)/1e6, "output-MB")
		})
	}
}
