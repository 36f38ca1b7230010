package content_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"holdfast/engine"
	"holdfast/engine/content"
)

// throughputHosts is the number of hosts that fetch at the same time.
const throughputHosts = 50

// BenchmarkThroughput sends the same files to 50 hosts at once, with scp and then through the mirror. A host is a connection to one
// sshd on the loopback. scp uses connections that are open, as the mirror does. The hosts write small files to TMPDIR, which should
// be in memory and have 2 GB, and drop large ones. cpu-s/GB is the time of the bastion: scp and ssh, or this process. hosts-s/GB is the time
// of sshd with its sftp servers, or with the fetcher. peak-MB is the most memory of this process. ratio is the rate of the mirror in
// relation to scp. It needs ssh, scp and sshd of OpenSSH. As root it runs sshd as nobody.
//
//	go test ./engine/content -run '^$' -bench Throughput -benchtime 3x
func BenchmarkThroughput(b *testing.B) {
	b.Run("1000 files of 2 to 20 KB", func(b *testing.B) {
		var sizes []int
		for i := range 1000 {
			sizes = append(sizes, 2000+i*7919%18000)
		}
		benchmarkThroughput(b, sizes, false)
	})
	b.Run("1 file of 50 MB", func(b *testing.B) { benchmarkThroughput(b, []int{50e6}, true) })
}

func benchmarkThroughput(b *testing.B, sizes []int, drop bool) {
	s := startThroughputSite(b)
	s.drop = drop
	s.makeFiles(b, sizes)
	mirror := content.NewServer(engine.Mirror{Repository: s.path("repo")})
	defer func() { _ = mirror.Close() }()
	debug.FreeOSMemory()                                      // the files were made in memory
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // the peak of memory starts anew
	var scp, fetched usage
	for b.Loop() {
		s.removeCopies(b)
		scp.addRun(b, s, func(i int) error { return s.copyFiles(b, i) })
		s.removeCopies(b)
		fetched.addRun(b, s, func(i int) error { return s.fetchFiles(mirror, i) })
	}
	gb := float64(b.N*throughputHosts) * float64(s.bytes) / 1e9
	report := func(name string, u usage, cpu time.Duration) {
		b.ReportMetric(gb*1e3/u.wall.Seconds(), name+"-MB/s")
		b.ReportMetric(cpu.Seconds()/gb, name+"-cpu-s/GB")
		b.ReportMetric(u.hosts.Seconds()/gb, name+"-hosts-s/GB")
	}
	report("scp", scp, scp.tools)
	report("mirror", fetched, fetched.self)
	b.ReportMetric(scp.wall.Seconds()/fetched.wall.Seconds(), "ratio")
	b.ReportMetric(float64(peakMemory())/1e6, "peak-MB")
}

// usage is the time that runs took, and the CPU time of all that takes part.
type usage struct {
	wall  time.Duration
	self  time.Duration // this process
	tools time.Duration // scp and ssh
	hosts time.Duration // sshd, and all that it has started; the fetcher
}

// addRun runs send for all hosts at once.
func (u *usage) addRun(b *testing.B, s *throughputSite, send func(host int) error) {
	b.Helper()
	before, began := s.usageSoFar(), time.Now()
	var group errgroup.Group
	for i := range throughputHosts {
		group.Go(func() error { return send(i) })
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
	after := s.usageSoFar()
	u.wall += time.Since(began)
	u.self += after.self - before.self
	u.tools += after.tools - before.tools
	u.hosts += after.hosts - before.hosts
}

func (s *throughputSite) usageSoFar() usage {
	u := usage{self: ownTime(syscall.RUSAGE_SELF), tools: ownTime(syscall.RUSAGE_CHILDREN), hosts: processTime(s.fetcher.Process.Pid)}
	for _, m := range s.masters {
		u.tools += processTime(m.Process.Pid)
	}
	for _, pid := range processTree(s.sshd.Process.Pid) {
		u.hosts += processTime(pid)
	}
	return u
}

func ownTime(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// processTime returns the CPU time that another process and its children that have ended have used, which the kernel tells in
// hundredths of a second.
func processTime(pid int) time.Duration {
	var ticks [4]int64 // user and system time, of the process and of its children
	if fields := processFields(pid); len(fields) > 14 {
		_, _ = fmt.Sscan(strings.Join(fields[11:15], " "), &ticks[0], &ticks[1], &ticks[2], &ticks[3])
	}
	return time.Duration(ticks[0]+ticks[1]+ticks[2]+ticks[3]) * 10 * time.Millisecond
}

// processFields returns the fields of /proc/PID/stat after the name of the program.
func processFields(pid int) []string {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.Fields(rest)
}

// processTree returns a process and all that descend from it.
func processTree(pid int) []int {
	tree := []int{pid}
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for text := range strings.FieldsSeq(string(children)) {
		var child int
		if _, err := fmt.Sscan(text, &child); err == nil {
			tree = append(tree, processTree(child)...)
		}
	}
	return tree
}

func peakMemory() int64 {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kib int64
	_, _ = fmt.Sscan(rest, &kib)
	return kib << 10
}

// copyFiles copies the files to a host with scp.
func (s *throughputSite) copyFiles(b *testing.B, host int) error {
	from, to := []string{"-r", s.path("files")}, s.hostFolder(host)
	if s.drop {
		from, to = []string{s.path("files/0")}, "/dev/null"
	}
	args := append(append([]string{"-q", "-F", "none", "-o", "ControlPath=" + s.socket(host), "-P", fmt.Sprint(s.port)}, from...), s.account.Username+"@127.0.0.1:"+to)
	if out, err := exec.CommandContext(b.Context(), "scp", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("scp: %w: %s", err, out)
	}
	return nil
}

// fetchFiles makes a host fetch the files from the mirror, through a forward of its connection.
func (s *throughputSite) fetchFiles(mirror *content.Server, host int) error {
	prepared, err := mirror.PrepareTransfer(context.Background(), content.Transfer{Host: fmt.Sprint(host), Content: engine.Content{Commit: s.commit}})
	if err != nil {
		return err
	}
	l, err := s.hosts[host].Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer prepared.Serve(l)()
	f := Fetch{URL: "http://" + l.Addr().String() + "/ostree/", Count: s.count, Folder: s.hostFolder(host)}
	if s.drop {
		f.Folder = ""
	}
	return s.fetches.Call("Fetcher.Fetch", f, &struct{}{})
}
