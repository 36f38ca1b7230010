package content_test

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sourcegraph/conc"
	"golang.org/x/crypto/ssh"
	"golang.org/x/sync/errgroup"

	"holdfast/engine"
	"holdfast/engine/content"
	"holdfast/engine/remote"
	"holdfast/engine/remote/sshconfig"
	"holdfast/engine/remote/sshtest"
)

const (
	throughputHosts = 50
	bytesPerHost    = 16 << 20
	hostsVariable   = "HOLDFAST_THROUGHPUT_HOSTS" // makes the test binary act as the hosts, so that their CPU time does not count for the bastion
)

// throughputHost is a host in another process.
type throughputHost struct {
	Port                 int
	Identity, KnownHosts string

	client  *ssh.Client  // for commands
	forward *remote.Host // for the mirror, as in a run
}

// objectPath returns the path of the object with that number.
func objectPath(i int) string { return fmt.Sprintf("objects/%02x/%062x.filez", i%256, i) }

// TestThroughputHosts is no test: it is the process of the hosts for BenchmarkThroughput. The hosts know two commands:
// sink reads its input, and "fetch URL COUNT" fetches COUNT objects, eight at once, as ostree does.
func TestThroughputHosts(t *testing.T) {
	if os.Getenv(hostsVariable) == "" {
		t.Skip("only for BenchmarkThroughput")
	}
	run := func(line string, stdin io.Reader, _, stderr io.Writer) int {
		var url string
		var count int
		var err error
		if _, scanErr := fmt.Sscanf(line, "fetch %s %d", &url, &count); scanErr == nil {
			err = fetchObjects(url, count)
		} else {
			_, err = io.Copy(io.Discard, stdin)
		}
		if err != nil {
			fmt.Fprintln(stderr, err)
			return 1
		}
		return 0
	}
	for range throughputHosts {
		s := sshtest.Start(t, sshtest.Config{Exec: run})
		if err := json.NewEncoder(os.Stdout).Encode(throughputHost{Port: s.Port(), Identity: s.Identity, KnownHosts: s.KnownHosts}); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the benchmark ends
}

func fetchObjects(url string, count int) error {
	client := http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8, DisableCompression: true}}
	defer client.CloseIdleConnections()
	var group errgroup.Group
	group.SetLimit(8)
	for i := range count {
		group.Go(func() error {
			r, err := client.Get(url + objectPath(i))
			if err != nil {
				return err
			}
			defer func() { _ = r.Body.Close() }()
			if r.StatusCode != http.StatusOK {
				return errors.New(r.Status)
			}
			_, err = io.Copy(io.Discard, r.Body)
			return err
		})
	}
	return group.Wait()
}

// startThroughputHosts starts the process of the hosts, and logs in to each
// host.
func startThroughputHosts(b *testing.B) (all []*throughputHost, cpu func() time.Duration) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^TestThroughputHosts$")
	cmd.Env = append(os.Environ(), hostsVariable+"=1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _, _ = stdin.Close(), cmd.Wait() })
	dialer := remote.NewDialer(remote.Options{Agent: "none"})
	b.Cleanup(func() { dialer.Close() })
	lines := bufio.NewScanner(stdout)
	for len(all) < throughputHosts && lines.Scan() {
		h := &throughputHost{}
		if err := json.Unmarshal(lines.Bytes(), h); err != nil {
			b.Fatalf("%s: %v", lines.Text(), err)
		}
		key, err := os.ReadFile(h.Identity)
		if err != nil {
			b.Fatal(err)
		}
		signer, err := ssh.ParsePrivateKey(key)
		if err != nil {
			b.Fatal(err)
		}
		h.client, err = ssh.Dial("tcp", fmt.Sprint("127.0.0.1:", h.Port), &ssh.ClientConfig{
			User: "core", Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(),
		})
		if err != nil {
			b.Fatal(err)
		}
		h.forward, err = dialer.Dial(b.Context(), sshconfig.Target{
			Name: fmt.Sprint(h.Port), Address: "127.0.0.1", Port: h.Port, User: "core", Config: "none",
			Identities: []string{h.Identity}, KnownHosts: []string{h.KnownHosts}, ConnectTimeout: time.Minute, KeepAlive: time.Minute,
		})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _, _ = h.client.Close(), h.forward.Close() })
		all = append(all, h)
	}
	if len(all) < throughputHosts {
		b.Fatalf("%d hosts, %v", len(all), lines.Err())
	}
	return all, func() time.Duration { return processTime(cmd.Process.Pid) }
}

// processTime returns the CPU time that another process has used, from its user and system time in hundredths of a second.
func processTime(pid int) time.Duration {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	var user, system int64
	if fields := strings.Fields(rest); len(fields) > 12 {
		_, _ = fmt.Sscan(fields[11], &user)
		_, _ = fmt.Sscan(fields[12], &system)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

// makeObjects makes a repository with enough objects of that size for one host, and a file with the same bytes.
func makeObjects(b *testing.B, size int) (folder, commit, file string, count int) {
	b.Helper()
	folder, count = b.TempDir(), bytesPerHost/size
	files := map[string]string{"config": "[core]\nmode=archive\n"}
	var whole strings.Builder
	for i := range count {
		data := make([]byte, size)
		_, _ = rand.Read(data)
		files[objectPath(i)] = string(data)
		whole.Write(data)
	}
	files["whole"] = whole.String()
	writeFiles(b, folder, files)
	return folder, writeEmptyCommit(b, folder), filepath.Join(folder, "whole"), count
}

// BenchmarkThroughput sends the same bytes to 50 hosts at once: through the mirror, as objects of an ostree repository
// and as one blob; as plain data of an SSH session of the same library; and with the ssh command, as scp does. CPU time
// and memory are of the bastion, because the hosts run in another process. ratio is the rate divided by the rate of the
// session.
//
// go test ./engine/content -run '^$' -bench Throughput -benchtime 3x
func BenchmarkThroughput(b *testing.B) {
	hosts, hostsCPU := startThroughputHosts(b)
	m := throughputMeter{hosts: hosts, hostsCPU: hostsCPU}
	folder, commit, file, count := makeObjects(b, 32<<10)
	b.Run("session", func(b *testing.B) {
		m.session = m.measure(b, func(h *throughputHost) error { return h.sendFile(file) })
	})
	if tool, err := exec.LookPath("ssh"); err == nil {
		b.Run("ssh", func(b *testing.B) {
			m.measure(b, func(h *throughputHost) error { return h.sendWithTool(b, tool, file) })
		})
	}
	fetch := func(folder, commit string, count int) func(b *testing.B) {
		return func(b *testing.B) {
			s := content.NewServer(engine.Mirror{Repository: folder})
			defer func() { _ = s.Close() }()
			m.measure(b, func(h *throughputHost) error { return h.fetch(s, commit, count) })
		}
	}
	b.Run("mirror/objects=32KiB", fetch(folder, commit, count))
	folder, commit, _, count = makeObjects(b, bytesPerHost)
	b.Run("mirror/blob", fetch(folder, commit, count))
}

// throughputMeter measures the rate, CPU time and memory of sending to all
// hosts at once.
type throughputMeter struct {
	hosts    []*throughputHost
	hostsCPU func() time.Duration
	session  float64 // bytes per second of a plain session; 0: not measured
}

// measure sends to all hosts at once, and returns the bytes per second.
func (m *throughputMeter) measure(b *testing.B, send func(*throughputHost) error) float64 {
	b.Helper()
	debug.FreeOSMemory()                                      // the files were made in memory
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // resets the peak of memory
	hostsBefore := m.hostsCPU()
	before := cpuTime()
	for b.Loop() {
		var work conc.WaitGroup
		for _, h := range m.hosts {
			work.Go(func() {
				if err := send(h); err != nil {
					b.Error(err)
				}
			})
		}
		work.Wait()
	}
	rate := float64(b.N) * throughputHosts * bytesPerHost / b.Elapsed().Seconds()
	b.ReportMetric(rate/1e6, "MB/s")
	perGB := 1e9 / (float64(b.N) * throughputHosts * bytesPerHost)
	b.ReportMetric((cpuTime()-before).Seconds()*perGB, "cpu-s/GB")
	b.ReportMetric((m.hostsCPU()-hostsBefore).Seconds()*perGB, "hosts-cpu-s/GB")
	b.ReportMetric(float64(peakMemory())/1e6, "peak-MB")
	if m.session > 0 {
		b.ReportMetric(rate/m.session, "ratio")
	}
	return rate
}

// cpuTime returns the CPU time of this process and of the tools that it has
// run.
func cpuTime() time.Duration {
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}

func peakMemory() int64 {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kib int64
	_, _ = fmt.Sscan(rest, &kib)
	return kib << 10
}

// sendFile sends a file as the input of a command.
func (h *throughputHost) sendFile(path string) error {
	session, err := h.client.NewSession()
	if err != nil {
		return err
	}
	defer func() { _ = session.Close() }()
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	session.Stdin = file
	return session.Run("sink")
}

func (h *throughputHost) sendWithTool(b *testing.B, tool, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	cmd := exec.CommandContext(b.Context(), tool, "-F", "none", "-i", h.Identity, "-o", "UserKnownHostsFile="+h.KnownHosts, "-o", "BatchMode=yes",
		"-o", "IdentitiesOnly=yes", "-p", fmt.Sprint(h.Port), "core@127.0.0.1", "sink")
	cmd.Stdin = file
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// fetch makes the host fetch from the mirror through a forward of its
// connection.
func (h *throughputHost) fetch(s *content.Server, commit string, count int) error {
	l, err := h.forward.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	stop, err := s.Serve(l, content.Transfer{Host: fmt.Sprint(h.Port), Content: engine.Content{Commit: commit}})
	if err != nil {
		return err
	}
	defer stop()
	session, err := h.client.NewSession()
	if err != nil {
		return err
	}
	defer func() { _ = session.Close() }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	out, err := session.CombinedOutput(fmt.Sprintf("fetch http://127.0.0.1:%s/ostree/ %d", port, count))
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
