package content_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/rpc"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sync/errgroup"

	"holdfast/engine/remote"
	"holdfast/engine/remote/sshconfig"
)

// fetcherVariable makes the test binary the fetcher.
const fetcherVariable = "HOLDFAST_THROUGHPUT_FETCHER"

// throughputSite is a bastion with 50 hosts.
type throughputSite struct {
	folder   string
	account  *user.User // of the hosts
	uid, gid int
	port     int

	sshd, fetcher *exec.Cmd
	fetches       *rpc.Client
	masters       []*exec.Cmd    // connections for scp
	hosts         []*remote.Host // connections for the mirror

	drop   bool // the hosts write no files
	count  int
	bytes  int64 // of all files
	commit string
}

func (s *throughputSite) path(name string) string { return filepath.Join(s.folder, name) }
func (s *throughputSite) hostFolder(i int) string { return s.path(fmt.Sprint("host", i)) }
func (s *throughputSite) socket(i int) string     { return s.path(fmt.Sprint("master", i)) }

func startThroughputSite(b *testing.B) *throughputSite {
	b.Helper()
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		sshd, err = exec.LookPath("/usr/sbin/sshd")
	}
	_, sshErr := exec.LookPath("ssh")
	_, scpErr := exec.LookPath("scp")
	if err := errors.Join(err, sshErr, scpErr); err != nil {
		b.Skipf("OpenSSH is not complete: %v", err)
	}
	s := &throughputSite{folder: b.TempDir()}
	check(b, os.Chmod(filepath.Dir(s.folder), 0o755)) // for nobody
	s.account, err = user.Current()
	if os.Getuid() == 0 {
		s.account, err = user.Lookup("nobody")
	}
	check(b, err)
	s.uid, _ = strconv.Atoi(s.account.Uid)
	s.gid, _ = strconv.Atoi(s.account.Gid)
	s.startSSHD(b, sshd)
	s.startFetcher(b)
	s.connectHosts(b)
	return s
}

func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// startSSHD starts the hosts.
func (s *throughputSite) startSSHD(b *testing.B, program string) {
	b.Helper()
	s.writeKey(b, "hostkey")
	check(b, os.Chown(s.path("hostkey"), s.uid, s.gid))
	s.writeKey(b, "userkey")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(b, err)
	s.port = l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	public, err := os.ReadFile(s.path("hostkey.pub"))
	check(b, err)
	writeFiles(b, s.folder, map[string]string{
		"known_hosts": fmt.Sprintf("[127.0.0.1]:%d %s", s.port, public),
		"sshd_config": fmt.Sprintf("ListenAddress 127.0.0.1:%d\nHostKey %[2]s/hostkey\nAuthorizedKeysFile %[2]s/userkey.pub\n"+
			"StrictModes no\nUsePAM yes\nPidFile none\nMaxStartups 200\nSubsystem sftp internal-sftp\n", s.port, s.folder),
	})
	var log bytes.Buffer
	s.sshd = exec.CommandContext(b.Context(), program, "-D", "-e", "-f", s.path("sshd_config"))
	s.sshd.Stderr = &log
	if os.Getuid() == 0 {
		s.sshd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(s.uid), Gid: uint32(s.gid)}}
	}
	check(b, s.sshd.Start())
	b.Cleanup(func() {
		_, _ = s.sshd.Process.Kill(), s.sshd.Wait()
		if b.Failed() {
			b.Log(log.String())
		}
	})
	address := fmt.Sprint("127.0.0.1:", s.port)
	awaitStart(b, "sshd", func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
}

func awaitStart(b *testing.B, name string, ready func() bool) {
	b.Helper()
	for range 500 {
		if ready() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.Fatal(name + " does not start")
}

func (s *throughputSite) writeKey(b *testing.B, name string) {
	b.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	check(b, err)
	block, err := ssh.MarshalPrivateKey(private, "")
	check(b, err)
	key, err := ssh.NewPublicKey(public)
	check(b, err)
	check(b, os.WriteFile(s.path(name), pem.EncodeToMemory(block), 0o600))
	check(b, os.WriteFile(s.path(name+".pub"), ssh.MarshalAuthorizedKey(key), 0o644))
}

// connectHosts opens two connections to each host, for scp and for the mirror.
func (s *throughputSite) connectHosts(b *testing.B) {
	b.Helper()
	dialer := remote.NewDialer(remote.Options{Agent: "none"})
	b.Cleanup(func() { _ = dialer.Close() })
	for i := range throughputHosts {
		master := exec.CommandContext(b.Context(), "ssh", "-F", "none", "-i", s.path("userkey"), "-o", "UserKnownHostsFile="+s.path("known_hosts"),
			"-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-p", fmt.Sprint(s.port), "-M", "-N", "-S", s.socket(i), s.account.Username+"@127.0.0.1")
		check(b, master.Start())
		s.masters = append(s.masters, master)
		b.Cleanup(func() { _, _ = master.Process.Kill(), master.Wait() })
		awaitStart(b, "ssh", func() bool { _, err := os.Stat(s.socket(i)); return err == nil })
		h, err := dialer.Dial(b.Context(), sshconfig.Target{
			Name: fmt.Sprint("host", i), Address: "127.0.0.1", Port: s.port, User: s.account.Username, Config: "none",
			Identities: []string{s.path("userkey")}, KnownHosts: []string{s.path("known_hosts")}, ConnectTimeout: time.Minute, KeepAlive: time.Minute,
		})
		check(b, err)
		s.hosts = append(s.hosts, h)
		b.Cleanup(func() { _ = h.Close() })
	}
}

// makeFiles makes files of random bytes, which are the objects of a repository, too.
func (s *throughputSite) makeFiles(b *testing.B, sizes []int) {
	b.Helper()
	writeFiles(b, s.path("repo"), map[string]string{"config": "[core]\nmode=archive\n"})
	check(b, os.Mkdir(s.path("files"), 0o755))
	for i, size := range sizes {
		data := make([]byte, size)
		_, _ = rand.Read(data)
		writeFiles(b, s.path("repo"), map[string]string{objectPath(i): string(data)})
		check(b, os.Link(s.path("repo/"+objectPath(i)), s.path(fmt.Sprint("files/", i))))
		s.bytes += int64(size)
	}
	s.count = len(sizes)
	s.commit = writeEmptyCommit(b, s.path("repo"))
}

// objectPath is the path of an object by its number.
func objectPath(i int) string { return fmt.Sprintf("objects/%02x/%062x.filez", i%256, i) }

// removeCopies removes the files that hosts have.
func (s *throughputSite) removeCopies(b *testing.B) {
	b.Helper()
	for i := range throughputHosts {
		check(b, os.RemoveAll(s.hostFolder(i)))
		check(b, os.Mkdir(s.hostFolder(i), 0o700))
		check(b, os.Chown(s.hostFolder(i), s.uid, s.gid))
	}
}

// startFetcher starts the process that fetches for all hosts.
func (s *throughputSite) startFetcher(b *testing.B) {
	b.Helper()
	s.fetcher = exec.CommandContext(b.Context(), os.Args[0], "-test.run=^TestThroughputFetcher$")
	s.fetcher.Env = append(os.Environ(), fetcherVariable+"=1")
	stdin, err := s.fetcher.StdinPipe()
	check(b, err)
	stdout, err := s.fetcher.StdoutPipe()
	check(b, err)
	check(b, s.fetcher.Start())
	s.fetches = rpc.NewClient(duplex{stdout, stdin})
	b.Cleanup(func() { _, _ = s.fetches.Close(), s.fetcher.Wait() })
}

// duplex is a connection of two pipes.
type duplex struct {
	io.ReadCloser
	io.Writer
}

// TestThroughputFetcher is no test, but the fetcher of BenchmarkThroughput in a process of its own.
func TestThroughputFetcher(t *testing.T) {
	if os.Getenv(fetcherVariable) == "" {
		t.Skip("only for BenchmarkThroughput")
	}
	server := rpc.NewServer()
	if err := server.RegisterName("Fetcher", fetcher{}); err != nil {
		t.Fatal(err)
	}
	server.ServeConn(duplex{os.Stdin, os.Stdout})
}

type fetcher struct{}

// Fetch is a fetch of one host.
type Fetch struct {
	URL    string
	Count  int
	Folder string // "": the files are dropped
}

// Fetch fetches the objects of a host, eight at once, as ostree does.
func (fetcher) Fetch(f Fetch, _ *struct{}) error {
	client := http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8, DisableCompression: true}}
	defer client.CloseIdleConnections()
	var group errgroup.Group
	group.SetLimit(8)
	for i := range f.Count {
		group.Go(func() error { return f.fetchObject(&client, i) })
	}
	return group.Wait()
}

func (f Fetch) fetchObject(client *http.Client, i int) error {
	r, err := client.Get(f.URL + objectPath(i))
	if err != nil {
		return err
	}
	defer func() { _ = r.Body.Close() }()
	if r.StatusCode != http.StatusOK {
		return errors.New(r.Status)
	}
	name := os.DevNull
	if f.Folder != "" {
		name = filepath.Join(f.Folder, fmt.Sprint(i))
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, r.Body)
	return errors.Join(err, file.Close())
}
