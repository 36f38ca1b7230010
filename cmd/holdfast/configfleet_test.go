package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vincent-petithory/dataurl"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
	"holdfast/engine/remote/sshtest"
	"holdfast/modules/hostconfig/record"
)

// configFleet is a site with one pool that configures many files. Each of its
// hosts runs the real scripts in its own box. The program runs as a separate
// process, so that its processor time does not include the hosts.
type configFleet struct {
	tb      testing.TB
	dir     string // folder of the site and of the boxes
	servers []*sshtest.Server
	files   map[string]string
}

// newConfigFleet makes n hosts that were provisioned from the output of "holdfast
// render". Their files are hard links to the same data: holdfast replaces files,
// and never writes to them.
func newConfigFleet(tb testing.TB, n, files int) *configFleet {
	f := &configFleet{tb: tb, dir: tb.TempDir(), files: map[string]string{}}
	for i := range files {
		f.files[fmt.Sprintf("/etc/app/%03d/%04d.conf", i%20, i)] = strings.Repeat(fmt.Sprintf("%07d\n", i), 512)
	}
	f.files["/etc/free.conf"], f.files["/etc/mild.conf"] = "old", "old"
	f.writeDocuments()
	identity := filepath.Join(f.dir, "id")
	private, key, err := newKey("")
	f.checkError(err)
	f.checkError(os.WriteFile(identity, private, 0o600))
	var hosts, known strings.Builder
	for i := range n {
		s := f.startHost(filepath.Join(f.dir, "boxes", strconv.Itoa(i)), key)
		known.WriteString(knownhosts.Line([]string{s.Addr()}, s.HostKey()) + "\n")
		fmt.Fprintf(&hosts, "host \"w-%02d\" {\n  address = \"127.0.0.1\"\n  pool = \"worker\"\n  ssh { port = %d }\n}\n", i, s.Port())
	}
	f.checkError(os.WriteFile(filepath.Join(f.dir, "known_hosts"), []byte(known.String()), 0o600))
	f.checkError(os.WriteFile(filepath.Join(f.dir, "site.hcl"), []byte(fleetSite+hosts.String()), 0o600))
	f.provisionHosts()
	return f
}

const fleetSite = `site "test" {
  ssh {
    user        = "core"
    known_hosts = "known_hosts"
    identity    = "id"
    become      = "sudo"
    ssh_config  = "none"
  }
}
pool "worker" {
  configs = ["app.ign"]
  policy {
    path    = "/etc/free.conf"
    actions = ["none"]
  }
  policy {
    path    = "/etc/mild.conf"
    actions = ["reload x.service"]
  }
}
`

// writeDocuments writes the documents, owned by the user who runs the test.
func (f *configFleet) writeDocuments() {
	f.tb.Helper()
	type id struct {
		ID int `json:"id"`
	}
	type contents struct {
		Source string `json:"source"`
	}
	type file struct {
		Path     string   `json:"path"`
		Mode     int      `json:"mode"`
		User     id       `json:"user"`
		Group    id       `json:"group"`
		Contents contents `json:"contents"`
	}
	var list []file
	for path, text := range f.files {
		source := "data:;base64," + base64.StdEncoding.EncodeToString([]byte(text))
		list = append(list, file{path, 0o644, id{os.Getuid()}, id{os.Getgid()}, contents{source}})
	}
	text, err := json.Marshal(map[string]any{"ignition": map[string]string{"version": "3.4.0"}, "storage": map[string]any{"files": list}})
	f.checkError(err)
	f.checkError(os.WriteFile(filepath.Join(f.dir, "app.ign"), text, 0o600))
}

func (f *configFleet) startHost(box string, key ssh.PublicKey) *sshtest.Server {
	f.tb.Helper()
	h := &testHost{box: box}
	f.checkError(h.writeState())
	f.checkError(os.WriteFile(filepath.Join(box, "units", "x.service"), []byte("active\n"), 0o600))
	fakes, err := filepath.Abs("../../testdata/fake")
	f.checkError(err)
	more, err := filepath.Abs("testdata/bin")
	f.checkError(err)
	bin := filepath.Join(box, "home", "bin")
	s, err := sshtest.New(filepath.Join(box, "home"), sshtest.Config{
		Authorized: []ssh.PublicKey{key},
		Env:        []string{"BOX=" + box, "FAKES=" + fakes, "PATH=" + strings.Join([]string{bin, more, fakes, filepath.Join(box, "home", "tools")}, ":")},
		Input: func(r io.Reader) io.Reader {
			return &movedScript{in: bufio.NewReader(&belowRoot{in: bufio.NewReader(r), root: box}), box: box}
		},
	})
	f.checkError(err)
	f.tb.Cleanup(s.Close)
	f.servers = append(f.servers, s)
	return s
}

// belowRoot moves the absolute paths of a configuration in a script below root.
// The script arrives as a line with its length, followed by its bytes.
type belowRoot struct {
	in    *bufio.Reader
	root  string
	ready *bytes.Reader
}

func (r *belowRoot) Read(p []byte) (int, error) {
	if r.ready == nil {
		line, err := r.in.ReadString('\n')
		if err != nil {
			return 0, err
		}
		n, err := strconv.Atoi(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return 0, err
		}
		script := make([]byte, n)
		if _, err := io.ReadFull(r.in, script); err != nil {
			return 0, err
		}
		script = bytes.ReplaceAll(script, []byte("\nroot=''\n"), []byte("\nroot="+hostscript.Quote(r.root)+"\n"))
		r.ready = bytes.NewReader(append([]byte(strconv.Itoa(len(script))+"\n"), script...))
	}
	if r.ready.Len() > 0 {
		return r.ready.Read(p)
	}
	return r.in.Read(p)
}

// provisionHosts writes the rendered configuration to all hosts, like an
// installation.
func (f *configFleet) provisionHosts() {
	f.tb.Helper()
	var doc struct {
		Storage struct {
			Files []struct {
				Path     string
				Mode     os.FileMode
				Contents struct{ Source string }
			}
		}
	}
	f.checkError(json.Unmarshal([]byte(f.runProgram(engine.ExitOK, "render", "w-00").stdout), &doc))
	for _, file := range doc.Storage.Files {
		data, err := dataurl.DecodeString(file.Contents.Source)
		f.checkError(err)
		first := ""
		for i := range f.servers {
			path := f.hostPath(i, file.Path)
			f.checkError(os.MkdirAll(filepath.Dir(path), 0o755))
			if first != "" {
				f.checkError(os.Link(first, path))
				continue
			}
			f.checkError(os.WriteFile(path, data.Data, 0o600))
			f.checkError(os.Chmod(path, file.Mode))
			if file.Path != record.Path {
				first = path
			}
		}
	}
}

func (f *configFleet) hostPath(host int, path string) string {
	return filepath.Join(f.dir, "boxes", strconv.Itoa(host), path)
}

func (f *configFleet) checkError(err error) {
	f.tb.Helper()
	if err != nil {
		f.tb.Fatal(err)
	}
}

// ran has the output and the processor time of one run of the program.
type ran struct {
	stdout string
	cpu    time.Duration
}

// runProgram runs the program and checks its exit status.
func (f *configFleet) runProgram(code engine.ExitCode, args ...string) ran {
	f.tb.Helper()
	cmd := exec.Command("holdfast", append(args, "-i", filepath.Join(f.dir, "site.hcl"))...)
	cmd.Env = append(os.Environ(), "HOME="+f.dir, "XDG_STATE_HOME="+f.dir, "SSH_AUTH_SOCK=")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		f.tb.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != int(code) {
		f.tb.Fatalf("%v: exit status %d, want %d\n%s%s", args, got, code, stdout.String(), stderr.String())
	}
	return ran{stdout.String(), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
}

// checkVisits checks how many connections and commands each host received since
// the last call.
func (f *configFleet) checkVisits(since []visit, connections, sessions int) []visit {
	f.tb.Helper()
	var now []visit
	for i, s := range f.servers {
		now = append(now, visit{s.Connections(), s.Sessions()})
		if since == nil {
			continue
		}
		got := visit{now[i].connections - since[i].connections, now[i].sessions - since[i].sessions}
		if want := (visit{connections, sessions}); got != want {
			f.tb.Errorf("w-%02d: %+v, want %+v", i, got, want)
		}
	}
	return now
}

type visit struct{ connections, sessions int }

// readToolLog returns the calls of a host's tools.
func (f *configFleet) readToolLog(host int) string {
	f.tb.Helper()
	text, err := os.ReadFile(f.hostPath(host, "log"))
	f.checkError(err)
	return string(text)
}

// TestConfigRoundTrips checks that a run over matching hosts takes one round
// trip each, for any number of files. A non-disruptive change takes three:
// gather, write, gather.
func TestConfigRoundTrips(t *testing.T) {
	t.Parallel()
	longtest.SkipSlow(t)
	hosts := longtest.Pick(4, 50)
	f := newConfigFleet(t, hosts, longtest.Pick(50, 500))
	seen := f.checkVisits(nil, 0, 0)
	nothing := func(args ...string) {
		t.Helper()
		if out := f.runProgram(engine.ExitOK, args...); !strings.Contains(out.stdout, fmt.Sprintf("Nothing to do: %d hosts match.", hosts)) {
			t.Errorf("%v:\n%s", args, out.stdout)
		}
		seen = f.checkVisits(seen, 1, 1)
	}
	nothing("plan")
	nothing("apply", "--yes")

	f.files["/etc/free.conf"], f.files["/etc/mild.conf"] = "new", "new"
	f.writeDocuments()
	out := f.runProgram(engine.ExitOK, "apply", "--yes")
	seen = f.checkVisits(seen, 1, 3)
	if want := fmt.Sprintf("%[1]d updated (%[1]d without disruption)", hosts); !strings.Contains(out.stdout, want) {
		t.Errorf("no %q in\n%s", want, out.stdout)
	}
	nothing("apply", "--yes")
	for i := range f.servers {
		for _, path := range []string{"/etc/free.conf", "/etc/mild.conf", "/etc/app/000/0000.conf"} {
			if got, err := os.ReadFile(f.hostPath(i, path)); err != nil || string(got) != f.files[path] {
				t.Errorf("w-%02d: %s: %.10q, %v", i, path, got, err)
			}
		}
		if log := f.readToolLog(i); strings.Count(log, "systemctl reload x.service\n") != 1 || strings.Contains(log, "systemctl reboot") {
			t.Errorf("w-%02d:\n%s", i, log)
		}
	}
}
