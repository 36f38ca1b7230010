package main

import (
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"holdfast/engine/redfish/redfishtest"
)

// poweredHost is a host in memory that never answers over SSH.
type poweredHost struct {
	mu    sync.Mutex
	state string
}

func (h *poweredHost) Power() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state
}

func (h *poweredHost) Reset(kind string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state = strings.NewReplacer("GracefulShutdown", "Off", "Force", "").Replace(kind)
	return nil
}

// TestPowerThroughBMC switches hosts through their BMC, with a password from a command and one from a file. No password is in the output, in
// journals, or in the arguments of a process.
func TestPowerThroughBMC(t *testing.T) {
	t.Parallel()
	const password = "geheim-0815-geheim"
	hosts := map[string]*poweredHost{"1": {state: "Off"}, "2": {state: "On"}}
	server := httptest.NewUnstartedServer(&redfishtest.Service{User: "admin", Password: password, Machines: map[string]redfishtest.Machine{"1": hosts["1"], "2": hosts["2"]}})
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	site, home := t.TempDir(), t.TempDir()
	bmc := func(system, password string) string {
		return fmt.Sprintf("  bmc {\n    address = %q\n    system = %q\n    ca = \"ca.pem\"\n    user = \"admin\"\n    %s\n  }\n", strings.TrimPrefix(server.URL, "https://"), system, password)
	}
	for name, text := range map[string]string{
		"ca.pem": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})),
		"right":  password + "\n", "wrong": "wrong-wrong-wrong\n", "known_hosts": "",
		"site.hcl": "variable \"secret\" { sensitive = true }\nsite \"test\" {\n  ssh {\n    user = \"core\"\n    known_hosts = \"known_hosts\"\n    ssh_config = \"none\"\n    port = 1\n  }\n}\npool \"p\" {}\n" +
			"host \"a\" {\n  address = \"127.0.0.1\"\n  pool = \"p\"\n" + bmc("1", `password_command = "tr '\\0' '\\n' </proc/$$/cmdline >seen; echo ${var.secret}"`) + "}\n" +
			"host \"b\" {\n  address = \"127.0.0.2\"\n  pool = \"p\"\n" + bmc("2", `password_file = "right"`) + "}\n" +
			"host \"c\" {\n  address = \"127.0.0.3\"\n  pool = \"p\"\n" + bmc("3", `password_file = "wrong"`) + "}\n" +
			"host \"d\" {\n  address = \"127.0.0.4\"\n  pool = \"p\"\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(site, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(code int, pattern string, args ...string) {
		t.Helper()
		p := exec.Command(os.Args[0])
		p.Args = append([]string{"holdfast"}, append(args, "-i", site)...) // with this first argument, the test binary is the program
		p.Env = append(os.Environ(), "SSH_AUTH_SOCK=", "HOME="+home, "XDG_STATE_HOME="+home, "HOLDFAST_VAR_secret="+password)
		text, _ := p.CombinedOutput() // the exit code is checked below
		if got := p.ProcessState.ExitCode(); got != code || !regexp.MustCompile(pattern).Match(text) || strings.Contains(string(text), password) {
			t.Errorf("%q: exit status %d, want %d with %q: %s", args, got, code, pattern, text)
		}
	}
	run(3, `(?sm)^a +Off +LastState +off.*^b +On +LastState +off.*^c +\? .*it refuses the login \(HTTP status 401\); correct user or\s+password in the bmc block.*^d .*neither`, "power", "status")
	run(0, `(?s)"host": "a",\s*"power": "Off",\s*"resets": \[`, "power", "status", "a", "--json")
	run(1, `d has neither a bmc nor a power block`, "power", "on", "d", "--force")
	run(5, `its hold is not known`, "power", "on", "a")
	run(0, `a: is on`, "power", "on", "a", "--force")
	run(0, `b: is off`, "power", "off", "b", "--force")
	run(3, `c: .*it refuses the login`, "power", "off", "c", "--force")
	if hosts["1"].Power() != "On" || hosts["2"].Power() != "Off" {
		t.Errorf("a is %s, b is %s", hosts["1"].Power(), hosts["2"].Power())
	}
	if seen, err := os.ReadFile(filepath.Join(site, "seen")); err != nil || len(seen) == 0 || strings.Contains(string(seen), password) {
		t.Errorf("arguments of password_command: %q, %v", seen, err)
	}
	err := filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), password) {
			t.Errorf("%s contains the password", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// lostAnswers serves a BMC that carries out each reset, and whose answer to it is lost or refuses it.
func lostAnswers(service http.Handler, status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodPost:
			service.ServeHTTP(w, r)
		case status != 0:
			w.WriteHeader(status)
		default:
			panic(http.ErrAbortHandler) // the connection ends
		}
	}
}

// TestResetWithoutAnswer: a reset whose answer is lost may have been carried out, and one that the BMC refuses was not.
func TestResetWithoutAnswer(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		0:                             `a: it may have been reset: BMC `,
		http.StatusServiceUnavailable: `a: it may have been reset: BMC .* \(HTTP status 503\)`,
		http.StatusMethodNotAllowed:   `a: BMC .*it refuses the request \(HTTP status 405\)`,
	} {
		service := &redfishtest.Service{User: "admin", Password: "geheim", Machines: map[string]redfishtest.Machine{"1": &poweredHost{state: "On"}}}
		server := httptest.NewUnstartedServer(lostAnswers(service, status))
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.StartTLS()
		t.Cleanup(server.Close)
		site := t.TempDir()
		sum := sha256.Sum256(server.Certificate().Raw)
		for name, text := range map[string]string{
			"password": "geheim\n", "known_hosts": "",
			"site.hcl": "site \"test\" {\n  ssh {\n    user = \"core\"\n    known_hosts = \"known_hosts\"\n    ssh_config = \"none\"\n    port = 1\n  }\n}\npool \"p\" {}\nhost \"a\" {\n  address = \"127.0.0.1\"\n  pool = \"p\"\n" +
				fmt.Sprintf("  bmc {\n    address = %q\n    system = \"1\"\n    fingerprint = \"%x\"\n    user = \"admin\"\n    password_file = \"password\"\n  }\n}\n", strings.TrimPrefix(server.URL, "https://"), sum),
		} {
			if err := os.WriteFile(filepath.Join(site, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p := exec.Command(os.Args[0])
		p.Args = []string{"holdfast", "power", "reset", "a", "--force", "-i", site} // with this first argument, the test binary is the program
		p.Env = append(os.Environ(), "SSH_AUTH_SOCK=", "HOME="+site, "XDG_STATE_HOME="+site)
		text, _ := p.CombinedOutput() // the exit code is checked below
		if p.ProcessState.ExitCode() != 3 || !regexp.MustCompile(want).Match(text) {
			t.Errorf("HTTP status %d: exit status %d, not 3 with %q: %s", status, p.ProcessState.ExitCode(), want, text)
		}
	}
}
