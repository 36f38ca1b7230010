package main

import (
	"bufio"
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"holdfast/engine/remote/sshtest"
)

// testHost is a host of a script. Its files are in hosts/NAME.
type testHost struct {
	server *sshtest.Server
	box    string
}

// hostOf starts a host. These keys are as in the inventory: pool (default
// worker), zone and etcd_cluster (default none), and address (default the next
// loopback address). With key=wrong, known_hosts has another host key. user, sudo
// and silent are as in sshtest.Config. hcl=no omits the host from the inventory.
func hostOf(ts *testscript.TestScript, name string, args []string) (*testHost, error) {
	set := map[string]string{"pool": "worker", "address": fmt.Sprintf("127.0.0.%d", len(fleetOf(ts).hosts)+1)}
	for _, a := range args {
		k, v, _ := strings.Cut(a, "=")
		set[k] = v
	}
	h := &testHost{box: filepath.Join(ts.Getenv("WORK"), "hosts", name)}
	err := h.start(sshtest.Config{
		Address: set["address"],
		User:    set["user"], Sudo: set["sudo"], Silent: set["silent"] == "yes", Authorized: []ssh.PublicKey{fleetOf(ts).key},
	})
	if err != nil {
		return nil, err
	}
	ts.Setenv(strings.ToUpper(strings.ReplaceAll(name, "-", "_"))+"_PORT", strconv.Itoa(h.server.Port()))
	return h, h.addToInventory(ts, name, set)
}

// start starts the host. Its commands find the fake tools, and scripts see the
// files in its box.
func (h *testHost) start(c sshtest.Config) error {
	fakes, err := filepath.Abs("../../testdata/fake")
	if err != nil {
		return err
	}
	more, err := filepath.Abs("testdata/bin")
	if err != nil {
		return err
	}
	if err := h.writeState(); err != nil {
		return err
	}
	bin := filepath.Join(h.box, "home", "bin")
	c.Env = []string{"BOX=" + h.box, "FAKES=" + fakes, "PATH=" + strings.Join([]string{bin, more, fakes, filepath.Join(h.box, "home", "tools")}, ":")}
	c.Input = func(r io.Reader) io.Reader { return &movedScript{in: bufio.NewReader(r), box: h.box} }
	h.server, err = sshtest.New(filepath.Join(h.box, "home"), c)
	return err
}

// These are the OS versions of the hosts, which run the first one at the start.
const (
	v1 = "1111111111111111111111111111111111111111111111111111111111111111"
	v2 = "2222222222222222222222222222222222222222222222222222222222222222"
)

// writeState writes the files that the fake tools read.
func (h *testHost) writeState() error {
	machine := crc32.ChecksumIEEE([]byte(filepath.Base(h.box))) // hosts with equal boot IDs would count as one machine
	for name, text := range map[string]string{
		"ostree-version": "2025.2", "bootc-version": "1.16.9", "free": "2000000", "booted": v1 + " lab:lab/stable",
		"meta/" + v1 + "/version": "1.0", "meta/" + v2 + "/version": "2.0", "boots": "1",
		"proc/cmdline":                   "root=LABEL=root rw ostree=/ostree/boot.1/lab/1/0",
		"proc/sys/kernel/random/boot_id": fmt.Sprintf("%08x-0000-0000-0000-000000000001", machine),
	} {
		path := filepath.Join(h.box, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			return err
		}
	}
	for _, dir := range []string{"units", "run", "var/lib", "etc", "home"} {
		if err := os.MkdirAll(filepath.Join(h.box, dir), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// addToInventory writes the host into the inventory and into known_hosts.
func (h *testHost) addToInventory(ts *testscript.TestScript, name string, set map[string]string) error {
	site := filepath.Join(ts.Getenv("WORK"), "site")
	key := h.server.HostKey()
	if set["key"] == "wrong" {
		_, other, err := newKey("")
		if err != nil {
			return err
		}
		key = other
	}
	if err := appendFile(filepath.Join(site, "known_hosts"), knownhosts.Line([]string{h.server.Addr()}, key)+"\n"); err != nil || set["hcl"] == "no" {
		return err
	}
	var hcl strings.Builder
	fmt.Fprintf(&hcl, "host %q {\n  address = %q\n  pool = %q\n", name, set["address"], set["pool"])
	for _, k := range []string{"zone", "etcd_cluster"} {
		if set[k] != "" {
			fmt.Fprintf(&hcl, "  %s = %q\n", k, set[k])
		}
	}
	fmt.Fprintf(&hcl, "  ssh { port = %d }\n}\n", h.server.Port())
	return appendFile(filepath.Join(site, "hosts.hcl"), hcl.String())
}

func appendFile(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text); err != nil {
		return err
	}
	return f.Close()
}

// movedScript reads the input of a host's shell, and moves the absolute paths of
// the script into the box. The script arrives as a line with its length, followed
// by its bytes. Lines before that are passwords.
type movedScript struct {
	in    *bufio.Reader
	box   string
	ready bytes.Buffer
	moved bool
}

func (m *movedScript) Read(p []byte) (int, error) {
	if m.ready.Len() == 0 && !m.moved {
		if err := m.moveLine(); err != nil {
			return 0, err
		}
	}
	if m.ready.Len() > 0 {
		return m.ready.Read(p)
	}
	return m.in.Read(p)
}

func (m *movedScript) moveLine() error {
	line, err := m.in.ReadString('\n')
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(strings.TrimSuffix(line, "\n"))
	if err != nil {
		m.ready.WriteString(line)
		return nil
	}
	script := make([]byte, n)
	if _, err := io.ReadFull(m.in, script); err != nil {
		return err
	}
	text := strings.ReplaceAll(string(script), "$root/usr/sbin:$root/sbin", m.box+"/usr/sbin")
	// The user who runs the tests is the root of the box, but does not own the machine's root directory.
	text = strings.ReplaceAll(text, `uid=$(stat -c %u "$root/.")`, fmt.Sprintf("uid=%d", os.Getuid()))
	for _, path := range []string{
		"/var/lib/holdfast", "/run/holdfast", "/run/ostree", "/run/systemd/system", "/run/systemd/inhibit", "/proc/sys", "/proc/cmdline", "/proc/[0-9]", "/proc/net", "/etc/kubernetes", "/boot/ostree", "/ostree/deploy",
		"/etc/motd.d", "/etc/systemd/system", "/etc/containers",
	} {
		text = strings.ReplaceAll(text, path, m.box+path)
	}
	fmt.Fprintf(&m.ready, "%d\n%s", len(text), text)
	m.moved = true
	return nil
}
