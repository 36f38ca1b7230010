package content_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine"
	"holdfast/engine/content"
	"holdfast/engine/content/ostreetest"
	"holdfast/engine/event"
	"holdfast/engine/remote"
	"holdfast/engine/remote/sshconfig"
	"holdfast/engine/remote/sshtest"
)

const (
	ref       = "lab/stable"
	fileBytes = 100_000
	fileCount = 40
)

// makeMirror makes a repository with one commit of files that cannot be compressed.
func makeMirror(t *testing.T) (folder, commit string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "mirror")
	tree := t.TempDir()
	for i := range fileCount {
		data := make([]byte, fileBytes)
		_, _ = rand.Read(data)
		if err := os.WriteFile(filepath.Join(tree, fmt.Sprint("file-", i)), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ostreetest.MustRun(t, folder, "init", "--mode=archive")
	return folder, ostreetest.MustRun(t, folder, "commit", "-b", ref, "--tree=dir="+tree, "--owner-uid=0", "--owner-gid=0")
}

// host is a host with an empty repository whose remote cannot be reached.
type host struct {
	name, repo string
	step       int64
	server     *sshtest.Server
	again      *atomic.Int64 // bytes that were sent again
}

func newHost(t *testing.T, name string, remoteOptions ...string) host {
	t.Helper()
	h := hostWithSSH(t)
	h.name, h.again = name, new(atomic.Int64)
	h.repo = filepath.Join(t.TempDir(), "repo")
	ostreetest.MustRun(t, h.repo, "init", "--mode=archive")
	ostreetest.MustRun(t, h.repo, append(append([]string{"remote", "add"}, remoteOptions...), "lab", "http://192.0.2.1/")...)
	return h
}

// hostWithSSH returns a host that can be reached and has no repository.
func hostWithSSH(t *testing.T) host {
	t.Helper()
	return host{name: "host", server: sshtest.Start(t, sshtest.Config{})}
}

func (h host) connect(t *testing.T) *remote.Host {
	t.Helper()
	d := remote.NewDialer(remote.Options{Agent: "none"})
	c, err := d.Dial(t.Context(), sshconfig.Target{
		Name: h.name, Address: "127.0.0.1", Port: h.server.Port(), User: "core", Config: "none",
		Identities: []string{h.server.Identity}, KnownHosts: []string{h.server.KnownHosts}, ConnectTimeout: time.Minute, KeepAlive: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = c.Close(), d.Close() })
	return c
}

// serveCommit opens a port on the host, and returns its address and the progress of the transfer.
func (h host) serveCommit(t *testing.T, s *content.Server, commit string, wrap func(net.Listener) net.Listener) (url string, sent func() int64) {
	t.Helper()
	l, err := h.connect(t).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url = "http://" + l.Addr().String() + "/ostree"
	if wrap != nil {
		l = wrap(l)
	}
	var last atomic.Int64
	once := serveTransfer(t, s, l, content.Transfer{Host: h.name, Step: h.step, Content: engine.Content{Commit: commit}, Report: func(p event.Progress) {
		last.Store(p.Bytes)
		h.again.Store(p.AgainBytes)
	}})
	return url, func() int64 { once(); return last.Load() }
}

// serveTransfer serves a transfer until stop is called or the test ends.
func serveTransfer(t *testing.T, s *content.Server, l net.Listener, transfer content.Transfer) (stop func()) {
	t.Helper()
	prepared, err := s.PrepareTransfer(t.Context(), transfer)
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(prepared.Serve(l))
	t.Cleanup(stop)
	return stop
}

func (h host) pullCommit(t *testing.T, url, commit string) (string, error) {
	t.Helper()
	return ostreetest.Run(t, h.repo, "pull", "--url="+url, "lab", ref+"@"+commit)
}

func newServer(t *testing.T, m engine.Mirror) *content.Server {
	t.Helper()
	s := content.NewServer(m)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// cutListener calls cut once its connections have written the bytes in left.
type cutListener struct {
	net.Listener
	left *atomic.Int64
	cut  func()
}

func (l cutListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return cutConn{c, l}, err
}

type cutConn struct {
	net.Conn
	listener cutListener
}

func (c cutConn) Write(p []byte) (int, error) {
	if c.listener.left.Add(-int64(len(p))) < 0 {
		c.listener.cut()
	}
	return c.Conn.Write(p)
}

// TestHostsPullThroughTheirConnections checks that three hosts fetch the same commit with ostree, through forwards of
// their SSH connections. One host loses its connection after 30 %, and its next attempt fetches only the rest. All
// hosts together keep to the rate.
func TestHostsPullThroughTheirConnections(t *testing.T) {
	t.Parallel()
	folder, commit := makeMirror(t)
	const rate = 4 << 20
	s := newServer(t, engine.Mirror{Repository: folder, BytesPerSecond: rate})
	const whole = fileBytes * fileCount
	began := time.Now()
	var work conc.WaitGroup
	var total atomic.Int64
	for i := range 3 {
		h := newHost(t, fmt.Sprint("host-", i), "--no-gpg-verify")
		work.Go(func() {
			var wrap func(net.Listener) net.Listener
			cutAt := map[int]int64{0: whole * 3 / 10, 1: whole * 7 / 10}[i]
			if cutAt > 0 {
				var left atomic.Int64
				left.Store(cutAt)
				wrap = func(l net.Listener) net.Listener { return cutListener{l, &left, sync.OnceFunc(h.server.Drop)} }
			}
			url, sent := h.serveCommit(t, s, commit, wrap)
			out, err := h.pullCommit(t, url, commit)
			if cutAt > 0 {
				if err == nil {
					t.Error("the pull did not notice that the connection was cut")
				}
				first := sent()
				url, sent = h.serveCommit(t, s, commit, nil)
				if out, err = h.pullCommit(t, url, commit); err != nil {
					t.Errorf("%s: %v: %s", h.name, err, out)
				}
				all := sent()
				if again := h.again.Load(); first < cutAt*2/3 || all < whole || all > whole*13/10 || again == 0 || all-again > whole*11/10 {
					t.Errorf("sent %d bytes before the cut, %d in all, %d of them again, of %d", first, all, again, whole)
				}
			} else if err != nil {
				t.Errorf("%s: %v: %s", h.name, err, out)
			}
			total.Add(sent())
			if out, err := ostreetest.Run(t, h.repo, "fsck"); err != nil {
				t.Errorf("%s: %v: %s", h.name, err, out)
			}
		})
	}
	work.Wait()
	if least := time.Duration(float64(total.Load()-1<<20) / rate * float64(time.Second)); time.Since(began) < least {
		t.Errorf("%d bytes in %s are more than %d per second", total.Load(), time.Since(began), rate)
	}
}

// TestStaticDeltasAreUsed checks that a host with the previous commit fetches the delta between the two commits, with
// few requests.
func TestStaticDeltasAreUsed(t *testing.T) {
	t.Parallel()
	folder, first := makeMirror(t)
	tree := filepath.Join(t.TempDir(), "tree")
	ostreetest.MustRun(t, folder, "checkout", "--user-mode", first, tree)
	writeFiles(t, tree, map[string]string{"new": strings.Repeat("new contents ", 10_000)})
	second := ostreetest.MustRun(t, folder, "commit", "-b", ref, "--tree=dir="+tree, "--owner-uid=0", "--owner-gid=0")
	ostreetest.MustRun(t, folder, "static-delta", "generate", "--from="+first, "--to="+second)
	ostreetest.MustRun(t, folder, "summary", "--update")
	s := newServer(t, engine.Mirror{Repository: folder})
	h := newHost(t, "host", "--no-gpg-verify")
	h.repo = filepath.Join(t.TempDir(), "bare") // ostree applies no delta to a repository in archive mode
	ostreetest.MustRun(t, h.repo, "init", "--mode=bare-user")
	ostreetest.MustRun(t, h.repo, "remote", "add", "--no-gpg-verify", "lab", "http://192.0.2.1/")
	for _, commit := range []string{first, second} {
		h.step++
		url, sent := h.serveCommit(t, s, commit, nil)
		out, err := h.pullCommit(t, url, commit)
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if commit == second && (!strings.Contains(out, "delta parts") || sent() > fileBytes) {
			t.Errorf("%d bytes were sent: %s", sent(), out)
		}
	}
}

// TestHostsAcceptWhatIsSigned checks that a host accepts a commit that is signed with a trusted key.
func TestHostsAcceptWhatIsSigned(t *testing.T) {
	t.Parallel()
	folder, commit := makeMirror(t)
	key := ostreetest.SignCommit(t, folder, commit)
	h := newHost(t, "host", "--set=gpg-verify=true", "--gpg-import="+key)
	url, _ := h.serveCommit(t, newServer(t, engine.Mirror{Repository: folder}), commit, nil)
	if out, err := h.pullCommit(t, url, commit); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestHostsRefuseWhatTheyDoNotTrust checks that the signature checks of the remote apply although its URL is replaced,
// and that an object with other contents is refused.
func TestHostsRefuseWhatTheyDoNotTrust(t *testing.T) {
	t.Parallel()
	folder, commit := makeMirror(t)
	s := newServer(t, engine.Mirror{Repository: folder})
	strict := newHost(t, "strict", "--set=gpg-verify=true")
	url, _ := strict.serveCommit(t, s, commit, nil)
	if out, err := strict.pullCommit(t, url, commit); err == nil || !strings.Contains(strings.ToLower(out), "gpg") {
		t.Errorf("an unsigned commit: %v: %s", err, out)
	}
	err := filepath.Walk(filepath.Join(folder, "objects"), func(path string, info os.FileInfo, err error) error {
		if err != nil || !strings.HasSuffix(path, ".filez") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		data[len(data)/2] ^= 1
		return os.WriteFile(path, data, info.Mode())
	})
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t, "host", "--no-gpg-verify")
	url, _ = h.serveCommit(t, s, commit, nil)
	if out, err := h.pullCommit(t, url, commit); err == nil || !strings.Contains(strings.ToLower(out), "corrupt") {
		t.Errorf("tampered objects: %v: %s", err, out)
	}
}

// TestAnIncompleteCommitIsNotServed checks that PrepareTransfer refuses a commit that lacks objects.
func TestAnIncompleteCommitIsNotServed(t *testing.T) {
	t.Parallel()
	folder, commit := makeMirror(t)
	files, _ := filepath.Glob(filepath.Join(folder, "objects/*/*.filez"))
	for _, f := range files[:3] {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	for commit, want := range map[string]string{commit: "lacks 3 of its objects", strings.Repeat("0", 64): "lacks 1 of its objects"} {
		if _, err := newServer(t, engine.Mirror{Repository: folder + "/none"}).PrepareTransfer(t.Context(), content.Transfer{Content: engine.Content{Commit: commit}}); err == nil || !strings.Contains(err.Error(), "makes it") {
			t.Errorf("from nowhere: %v", err)
		}
		_, err := newServer(t, engine.Mirror{Repository: folder}).PrepareTransfer(t.Context(), content.Transfer{Host: "h", Content: engine.Content{Commit: commit}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "holdfast mirror --from URL") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestACompletedMirrorIsServed checks that a mirror that was completed during the run is served: an earlier check does not
// count.
func TestACompletedMirrorIsServed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	writeFiles(t, folder, map[string]string{"config": "[core]\nmode=archive\n"})
	commit := writeEmptyCommit(t, folder)
	trees, _ := filepath.Glob(filepath.Join(folder, "objects/*/*.dirtree"))
	if err := os.Remove(trees[0]); err != nil {
		t.Fatal(err)
	}
	s := newServer(t, engine.Mirror{Repository: folder})
	transfer := content.Transfer{Host: "h", Content: engine.Content{Commit: commit}}
	if _, err := s.PrepareTransfer(t.Context(), transfer); err == nil || !strings.Contains(err.Error(), "lacks 1 of its objects") {
		t.Errorf("%v, want an incomplete mirror", err)
	}
	writeEmptyCommit(t, folder)
	if _, err := s.PrepareTransfer(t.Context(), transfer); err != nil {
		t.Errorf("after the mirror was completed: %v", err)
	}
}

// listenHere serves a mirror at a port of this machine, and returns the
// address.
func listenHere(t *testing.T, folder string) string {
	t.Helper()
	commit := writeEmptyCommit(t, folder)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveTransfer(t, newServer(t, engine.Mirror{Repository: folder}), l, content.Transfer{Host: "h", Content: engine.Content{Commit: commit}})
	return l.Addr().String()
}

// writeEmptyCommit writes a commit without files, and returns its checksum.
func writeEmptyCommit(t testing.TB, folder string) string {
	t.Helper()
	write := func(kind, data string) (raw, name string) {
		sum := sha256.Sum256([]byte(data))
		name = hex.EncodeToString(sum[:])
		writeFiles(t, folder, map[string]string{"objects/" + name[:2] + "/" + name[2:] + "." + kind: data})
		return string(sum[:]), name
	}
	tree, _ := write("dirtree", "\x00")
	meta, _ := write("dirmeta", "meta")
	_, commit := write("commit", tree+meta+"\x00\x00\x00\x00\x00\x00")
	return commit
}

func writeFiles(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOnlyFilesOfTheRepositoryAreServed requests everything that a host must
// not get.
func TestOnlyFilesOfTheRepositoryAreServed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"secret": "SECRET", "repo/config": "[core]\nmode=archive\n[remote \"x\"]\nurl=https://user:SECRET@x/\n", "repo/tmp/file": "SECRET", "repo/.lock": "SECRET",
		"repo/objects/ab/cd.filez": "0123456789", "repo/refs/heads/lab/stable": "x\n",
	})
	repo := filepath.Join(dir, "repo")
	for name, target := range map[string]string{"objects/ab/out.filez": "../../../secret", "objects/ab/absolute.filez": filepath.Join(dir, "secret"), "summary": "../secret", "summary.sig": "config", "objects/cd": "..", "refs/heads/config": "../../config", "refs/heads/alias": "lab/stable", "objects/ab/within.filez": "cd.filez"} {
		if err := os.Symlink(target, filepath.Join(repo, name)); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "mkfifo", filepath.Join(repo, "objects/ab/pipe.filez")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Link(filepath.Join(repo, "config"), filepath.Join(repo, "objects/ab/hard.filez")); err != nil {
		t.Fatal(err)
	}
	address := listenHere(t, repo)
	for _, c := range []struct {
		request, want string
	}{
		{"GET /ostree/objects/ab/cd.filez HTTP/1.1\r\nHost: h\r\n", "200"},
		{"GET /ostree/objects/ab/cd.filez HTTP/1.1\r\nHost: h\r\nRange: bytes=4-\r\n", "206"},
		{"HEAD /ostree/objects/ab/cd.filez HTTP/1.1\r\nHost: h\r\n", "200"},
		{"GET /ostree/config HTTP/1.1\r\nHost: h\r\n", "200"}, // the answer has no password
		{"GET /ostree/objects/ab/none.filez HTTP/1.1\r\nHost: h\r\n", "404"},
		{"GET /ostree/objects/ab/out.filez HTTP/1.1\r\nHost: h\r\n", "404"},
		{"GET /ostree/objects/ab/absolute.filez HTTP/1.1\r\nHost: h\r\n", "404"},
		{"GET /ostree/objects/ab/pipe.filez HTTP/1.1\r\nHost: h\r\n", "404"},
		{"GET /ostree/summary HTTP/1.1\r\nHost: h\r\n", "404"},
		{"GET /ostree/summary.sig HTTP/1.1\r\nHost: h\r\n", "404"},
		{"GET /ostree/objects/cd/config HTTP/1.1\r\nHost: h\r\n", "404"},
		{"GET /ostree/objects/ab/hard.filez HTTP/1.1\r\nHost: h\r\n", "404"},
		{"GET /ostree/objects/ab/within.filez HTTP/1.1\r\nHost: h\r\n", "404"},
		{"GET /ostree/refs/heads/config HTTP/1.1\r\nHost: h\r\n", "404"},
		{"GET /ostree/refs/heads/alias HTTP/1.1\r\nHost: h\r\n", "200"},
		{"GET /ostree/objects/ab HTTP/1.1\r\nHost: h\r\n", "404"},
		{"GET /ostree/objects/ab/ HTTP/1.1\r\nHost: h\r\n", "404"},
		{"GET /ostree/ HTTP/1.1\r\nHost: h\r\n", "404"},
		{"GET / HTTP/1.1\r\nHost: h\r\n", "404"},
		{"GET /ostree/tmp/file HTTP/1.1\r\nHost: h\r\n", "404"},
		{"GET /ostree/.lock HTTP/1.1\r\nHost: h\r\n", "404"},
		{"GET /ostree/../secret HTTP/1.1\r\nHost: h\r\n", "404"},
		{"GET /ostree/objects/../../secret HTTP/1.1\r\nHost: h\r\n", "404"},
		{"GET /ostree/objects/%2e%2e/%2e%2e/secret HTTP/1.1\r\nHost: h\r\n", "404"},
		{"GET /ostree/objects//ab/cd.filez HTTP/1.1\r\nHost: h\r\n", "404"},
		{"GET " + filepath.Join(dir, "secret") + " HTTP/1.1\r\nHost: h\r\n", "404"},
		{"GET //ostree/objects/ab/cd.filez HTTP/1.1\r\nHost: h\r\n", "404"},
		{"POST /ostree/objects/ab/cd.filez HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n", "405"},
		{"PUT /ostree/objects/ab/cd.filez HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n", "405"},
		{"DELETE /ostree/objects/ab/cd.filez HTTP/1.1\r\nHost: h\r\n", "405"},
		{"GET /ostree/objects/ab/cd.filez HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000\r\n", "400"},
		{"GET /ostree/config HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n", "431"},
	} {
		got := sendRaw(t, address, c.request)
		if !strings.HasPrefix(got, "HTTP/1.1 "+c.want) || strings.Contains(got, "SECRET") {
			t.Errorf("%.60q answers %.200q, want %s", c.request, got, c.want)
		}
	}
}

// sendRaw sends a request unchanged, and returns the answer.
func sendRaw(t *testing.T, address, request string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	_, _ = io.WriteString(c, request+"Connection: close\r\n\r\n") // the server may answer before it has read the whole request
	answer, _ := io.ReadAll(c)
	return string(answer)
}

// TestAHostThatFloodsIsBounded checks that connections of a host beyond the limit are closed, and that the server
// accepts connections again after the others have ended.
func TestAHostThatFloodsIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"config": "[core]\nmode=archive\n", "refs/heads/x": "y"})
	address := listenHere(t, dir)
	var open []net.Conn
	refused := 0
	for range 200 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	for _, c := range open {
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		_, _ = io.WriteString(c, "GET /ostree/refs/heads/x HTTP/1.1\r\nHost: h\r\n\r\n")
		one := make([]byte, 15)
		if _, err := io.ReadFull(c, one); err != nil {
			refused++
		} else if !bytes.HasPrefix(one, []byte("HTTP/1.1 200")) {
			t.Errorf("answered %q", one)
		}
	}
	if served := len(open) - refused; served != 24 {
		t.Errorf("%d connections are served at once, want 24", served)
	}
	for _, c := range open {
		_ = c.Close()
	}
	for { // until the server notices that the connections have ended
		r, err := http.Get("http://" + address + "/ostree/refs/heads/x")
		if err == nil {
			_ = r.Body.Close()
			break
		}
	}
}
