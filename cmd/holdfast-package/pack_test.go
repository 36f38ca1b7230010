package main

import (
	"bytes"
	"cmp"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// packStub packages a stub of the program with a checkout of few files, and returns the packages by their names.
func packStub(t *testing.T, tool string) map[string][]byte {
	t.Helper()
	root, stage, out := t.TempDir(), t.TempDir(), t.TempDir()
	for _, name := range []string{"docs/metrics.md", "examples/two/b.hcl", "inventories/c.hcl", "playbooks/cron.md", "README.md", "CHANGELOG.md"} {
		if err := writeFile(filepath.Join(root, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range map[string]os.FileMode{"holdfast": 0o755, "man/holdfast.1": 0o644, "holdfast.bash": 0o644, "holdfast.zsh": 0o644, "holdfast.fish": 0o644} {
		if err := writeFile(filepath.Join(stage, name), []byte(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	src := source{dir: root, commit: strings.Repeat("a", 40), version: stubVersion, time: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)}
	if err := (packer{source: src, arch: "amd64", stage: stage, out: out, tool: []string{tool}}).packAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	packages := map[string][]byte{}
	list, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if packages[p.Name()], err = os.ReadFile(filepath.Join(out, p.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return packages
}

// TestSameBytes: the same files make the same packages, at another time, in other folders, and with another umask.
func TestSameBytes(t *testing.T) {
	tool, err := exec.LookPath("nfpm")
	if err != nil {
		t.Skip("nfpm is missing; go install " + nfpmModule + " installs it")
	}
	first := packStub(t, tool)
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	t.Setenv("TZ", "Asia/Tokyo")
	second := packStub(t, tool)
	if len(first) != 2 || len(second) != 2 {
		t.Fatalf("%d and %d packages", len(first), len(second))
	}
	for name, data := range first {
		if !bytes.Equal(data, second[name]) {
			t.Errorf("%s differs when it is made again", name)
		}
	}
}

// TestScriptsKeepSites: no script of the packages removes or starts anything.
func TestScriptsKeepSites(t *testing.T) {
	for _, name := range []string{"postinstall.sh", "preremove.sh", "postremove.sh"} {
		for line := range strings.Lines(readPacked(t, name)) {
			if strings.HasPrefix(strings.TrimSpace(line), "printf ") {
				continue // shows a command
			}
			for _, word := range []string{"rm ", "userdel", "deluser", "rmdir", "systemctl start", "systemctl enable", ".service'"} {
				if strings.Contains(line, word) {
					t.Errorf("%s has %q", name, word)
				}
			}
		}
	}
}

// readPacked returns the text of a file of the packages.
func readPacked(t *testing.T, name string) string {
	t.Helper()
	text, err := files.ReadFile("files/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestUnits: all units of the packages work with the same inventory, journals and rights, are packaged, and are stopped before the program is removed.
func TestUnits(t *testing.T) {
	rights := ""
	// While a member reboots, or a person has switched a host off, status ends with 3 or 5, and has done its work.
	noFailures := map[string]string{"holdfast": "4", "holdfast-status": "2 3 5"}
	for _, name := range []string{"holdfast", "holdfast-status"} {
		for _, kind := range []string{".service", ".timer"} {
			if unit := name + "@" + kind; !strings.Contains(readPacked(t, "nfpm.yaml"), `dst: "/usr/lib/systemd/system/`+unit+`"`) {
				t.Errorf("%s is not packaged", unit)
			}
		}
		service := readPacked(t, name+"@.service")
		for _, want := range []string{"User=holdfast", "HOLDFAST_INVENTORY=/etc/holdfast/%i ", "HOLDFAST_RUNS=/var/lib/holdfast-jobs/%i/runs ", "EnvironmentFile=-/etc/holdfast/%i/environment"} {
			if !strings.Contains(service, want) {
				t.Errorf("%s@.service lacks %s", name, want)
			}
		}
		_, own, _ := strings.Cut(service, "\nStateDirectory=")
		if !strings.Contains(service, "\nSuccessExitStatus="+noFailures[name]+"\n") {
			t.Errorf("%s@.service fails with other codes than all except 0 and %s", name, noFailures[name])
		}
		if rights = cmp.Or(rights, own); own != rights || own == "" {
			t.Errorf("%s@.service has other rights", name)
		}
		for _, script := range []string{"preremove.sh", "postinstall.sh"} {
			if !strings.Contains(readPacked(t, script), name+"@*.timer") {
				t.Errorf("%s does not know %s@*.timer", script, name)
			}
		}
	}
	if list, err := fs.Glob(files, "files/*@.*"); err != nil || len(list) != 4 {
		t.Errorf("units that this test does not know: %s: %v", list, err)
	}
}

// TestCommandsByHand: the command that playbooks show beside the timers has the inventory and the journals of the units. It works in their
// folder, which its user may write to, where the files that playbooks name are.
func TestCommandsByHand(t *testing.T) {
	const folder, page = "/var/lib/holdfast-jobs/berlin", "../../playbooks/"
	cron, err := os.ReadFile(page + "cron.md")
	if err != nil {
		t.Fatal(err)
	}
	byHand := regexp.MustCompile(`(?m)^ *sudo -u holdfast env (.*) holdfast [a-z]`).FindAllStringSubmatch(string(cron), -1)
	if len(byHand) == 0 {
		t.Error("cron.md has no command by hand")
	}
	want := []string{"--chdir=" + folder}
	for _, m := range regexp.MustCompile(`HOLDFAST_(INVENTORY|RUNS)=\S+`).FindAllString(readPacked(t, "holdfast@.service"), -1) {
		want = append(want, strings.ReplaceAll(m, "%i", "berlin"))
	}
	for _, m := range byHand {
		if got := strings.Fields(m[1]); !slices.Equal(got, want) {
			t.Errorf("cron.md: by hand with %q, not %q", got, want)
		}
	}
	lost, err := os.ReadFile(page + "quorum-lost.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`holdfast etcd restore main (\S+\.db)`).FindAllStringSubmatch(string(lost), -1) {
		if !strings.HasPrefix(filepath.Join(folder, m[1]), folder+"/runs/snapshots/berlin/") {
			t.Errorf("quorum-lost.md: the timers have no snapshot %s in %s", m[1], folder)
		}
	}
	if !strings.Contains(string(lost), folder) {
		t.Errorf("quorum-lost.md does not name %s, the folder of its files", folder)
	}
}

// TestPostinstallNamesTimers: after a removal and an installation, timers are enabled and do not run. The script names them, and starts nothing.
func TestPostinstallNamesTimers(t *testing.T) {
	root := t.TempDir()
	wants := filepath.Join(root, "etc/systemd/system/timers.target.wants")
	for _, dir := range []string{wants, filepath.Join(root, "run/systemd/system"), filepath.Join(root, "bin")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"systemctl":        "#!/bin/sh\necho \"$*\" >>$LOG\ncase \"$*\" in *is-active*berlin*) exit 3 ;; esac\n",
		"systemd-sysusers": "#!/bin/sh\n", "install": "#!/bin/sh\n",
	} {
		if err := writeFile(filepath.Join(root, "bin", name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script := strings.NewReplacer("/run/systemd", root+"/run/systemd", "/etc/systemd", root+"/etc/systemd").Replace(readPacked(t, "postinstall.sh"))
	install := func() string {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", script, "postinstall.sh", "configure")
		cmd.Env = []string{"PATH=" + filepath.Join(root, "bin") + ":" + os.Getenv("PATH"), "LOG=" + filepath.Join(root, "log")}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if got := install(); got != "" {
		t.Errorf("without timers: %s", got)
	}
	for _, timer := range []string{"holdfast@berlin.timer", "holdfast-status@berlin.timer", "holdfast@paris.timer", "other@berlin.timer"} {
		if err := os.Symlink("/usr/lib/systemd/system/holdfast@.timer", filepath.Join(wants, timer)); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := install(), "start them with: systemctl start 'holdfast@berlin.timer' 'holdfast-status@berlin.timer'\n"; !strings.HasSuffix(got, want) {
		t.Errorf("it ends with %s, not %s", got, want)
	}
	log, err := os.ReadFile(filepath.Join(root, "log"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(log)) {
		if line != "daemon-reload\n" && !strings.HasPrefix(line, "--quiet is-active ") {
			t.Errorf("it runs systemctl %s", line)
		}
	}
}

// TestVersionsSortByTime: of two commits of one day, the later one has the newer package, as has the one of a later day.
func TestVersionsSortByTime(t *testing.T) {
	first := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	versions := []string{
		developmentVersion(first, strings.Repeat("f", 40)), developmentVersion(first.Add(time.Second), strings.Repeat("9", 40)),
		developmentVersion(first.Add(15*time.Hour).In(time.FixedZone("", -11*3600)), strings.Repeat("0", 40)), "0.0.0", "0.1.0",
	}
	for i, newer := range versions[1:] {
		older := versions[i]
		if _, err := exec.LookPath("dpkg"); err == nil {
			if err := exec.CommandContext(t.Context(), "dpkg", "--compare-versions", older, "lt", newer).Run(); err != nil {
				t.Errorf("dpkg: %s is not older than %s: %v", older, newer, err)
			}
		}
		if strings.Contains(newer, "~") && older >= newer {
			t.Errorf("%s is not before %s", older, newer)
		}
	}
}

// TestPackagesAreNoChange: packages in the default folder do not make the checkout one with changes.
func TestPackagesAreNoChange(t *testing.T) {
	if _, err := os.Stat("../../.git"); err != nil {
		t.Skip("this is not a checkout")
	}
	if out, err := exec.CommandContext(t.Context(), "git", "check-ignore", "../../dist/holdfast.deb").CombinedOutput(); err != nil {
		t.Errorf("git does not ignore dist: %v: %s", err, out)
	}
}
