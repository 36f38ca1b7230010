package readers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// unitCases are units, and a word of the finding about them; "" for units that
// systemd accepts.
var unitCases = []struct{ name, text, want string }{
	{"good.service", "[Service]\nExecStart=/usr/bin/true\n[Install]\nWantedBy=multi-user.target\n", ""},
	{"long.service", "[Service]\nExecStart=/bin/sh -c \\\n  # a comment\n  'exit 0'\n", ""},
	{"reset.service", "[Service]\nExecStart=/usr/bin/true\nExecStart=\nExecStart=/usr/bin/false\n", ""},
	{"steps.service", "[Service]\nType=oneshot\nExecStart=/usr/bin/true\nExecStart=/usr/bin/false\n", ""},
	{"stop.service", "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStop=/usr/bin/true\n", ""},
	{"success.service", "[Unit]\nSuccessAction=reboot\n[Service]\nType=oneshot\n", ""},
	{"none.service", "[Service]\nType=simple\n", "no ExecStart="},
	{"empty.service", "[Unit]\nDescription=x\n", "no ExecStart="},
	{"two.service", "[Service]\nExecStart=/usr/bin/true\nExecStart=/usr/bin/false\n", "more than one ExecStart="},
	{"again.service", "[Service]\nType=oneshot\nRestart=always\nExecStart=/usr/bin/true\n", "Restart=always"},
	{"failing.service", "[Service]\nType=oneshot\nRestart=on-failure\nExecStart=/usr/bin/true\n", ""},
	{"var-data.mount", "[Mount]\nWhat=tmpfs\nType=tmpfs\nWhere=/var/data\n", ""},
	{"var-data.mount", "[Mount]\nWhat=tmpfs\nType=tmpfs\nWhere=/var/data/\n", ""},
	{`var-my\x2ddata.mount`, "[Mount]\nWhat=tmpfs\nType=tmpfs\nWhere=/var/my-data\n", ""},
	{`var-.hidden\x40x.mount`, "[Mount]\nWhat=tmpfs\nType=tmpfs\nWhere=/var/.hidden@x\n", ""},
	{"data.mount", "[Mount]\nWhat=tmpfs\nType=tmpfs\nWhere=/var/data\n", "the name var-data.mount"},
	{"data.automount", "[Automount]\nWhere=/var/data\n", "the name var-data.automount"},
	{"a.timer", "[Timer]\nUnit=good.service\n", "no On… setting"},
	{"good.timer", "[Timer]\nOnCalendar=daily\n", ""},
	{"a.path", "[Path]\nUnit=good.service\n", "no path"},
	{"a.socket", "[Socket]\nAccept=yes\n", "no Listen… setting"},
}

func TestCheckUnit(t *testing.T) {
	for _, c := range unitCases {
		list := CheckUnit(Unit{Name: c.name, Contents: c.text})
		if len(list) > 1 || len(list) == 0 != (c.want == "") || len(list) == 1 && (!strings.Contains(list[0].Text, c.want) || !list[0].Ignored) {
			t.Errorf("%s: %+v, want %q", c.name, list, c.want)
		}
	}
	none := Unit{Name: "none.service", Contents: "[Service]\nType=simple\n", Enabled: true}
	if list := CheckUnit(none); len(list) != 2 || list[0].Ignored || !list[1].Ignored {
		t.Errorf("enabled, without ExecStart= and [Install]: %+v", list)
	}
	none.Dropins = []string{"[Service]\nExecStart=/usr/bin/true\n", "[Install]\nWantedBy=multi-user.target\n"}
	if list := CheckUnit(none); len(list) != 0 {
		t.Errorf("drop-ins complete it: %+v", list)
	}
}

// TestCheckUnitAsSystemd asks systemd itself about the same units.
func TestCheckUnitAsSystemd(t *testing.T) {
	const analyze = "/usr/bin/systemd-analyze"
	if _, err := os.Stat(analyze); err != nil {
		t.Skip("no systemd-analyze")
	}
	for _, c := range unitCases {
		file := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(analyze, "verify", "--man=no", file).CombinedOutput()
		refused := strings.Contains(string(out), "Refusing")
		if err != nil && !refused {
			continue // it has found something else, or cannot run here
		}
		if refused != (c.want != "") {
			t.Errorf("%s: systemd refuses: %v\n%s", c.name, refused, out)
		}
	}
}

func TestCheckFile(t *testing.T) {
	for _, c := range []struct {
		path, text string
		mode       int
		want       string // words of the findings; a ! for each that is an error
	}{
		{"/etc/sysctl.d/90-x.conf", "# x\nvm.swappiness = 1\n-net.x=1\n", 0o644, ""},
		{"/etc/sysctl.d/90-x.conf", "vm.swappiness 1\n", 0o644, "line 1"},
		{"/etc/sysctl.d/90-x", "a=1\n", 0o644, "ignored by systemd-sysctl"},
		{"/etc/sysctl.d/README", "text\n", 0o644, ""},
		{"/etc/modules-load.d/br_netfilter.conf", "br_netfilter\n", 0o644, ""},
		{"/etc/udev/rules.d/99-x.conf", "", 0o644, "ignored by udev"},
		{"/etc/systemd/system/a.service.d/10-x", "[Unit]\n", 0o644, "drop-ins end with .conf"},
		{"/etc/systemd/system/a.sh", "", 0o755, "not the name of a unit"},
		{"/etc/systemd/system/a.service", "[Service]\n", 0o644, "no ExecStart="},
		{"/etc/systemd/system/multi-user.target.wants/a", "", 0o644, ""},
		{"/etc/NetworkManager/system-connections/eth0.nmconnection", "[connection]\nid=eth0\n", 0o600, ""},
		{"/etc/NetworkManager/system-connections/eth0.nmconnection", "[connection]\nid=eth0\n", 0o644, "set 0600"},
		{"/etc/NetworkManager/system-connections/eth0.nmconnection", "[ipv4]\nmethod=auto\n", 0o600, "no section [connection]"},
		{"/etc/NetworkManager/dispatcher.d/10-x", "#!/bin/sh\n", 0o644, "set 0755"},
		{"/etc/sudoers.d/core", "core ALL=(ALL) NOPASSWD: ALL\n", 0o440, ""},
		{"/etc/sudoers.d/core", "core ALL=(ALL) NOPASSWD: ALL\n", 0o644, ""},
		{"/etc/sudoers.d/core", "core ALL=(ALL) NOPASSWD: ALL\n", 0o666, "!sudo refuses"},
		{"/etc/sudoers.d/core.conf", "core ALL=(ALL) NOPASSWD: ALL\n", 0o440, "ignored by sudo"},
		{"/etc/cron.d/job", "", 0o664, "cron ignores"},
		{"/etc/ssh/ssh_host_ed25519_key", "", 0o644, "sshd ignores"},
		{"/etc/ssh/sshd_config.d/10-x", "", 0o600, "ignored by sshd"},
		{"/usr/lib/x", "", 0o644, "read-only"},
		{"/usr/local/bin/x", "", 0o755, ""},
		{"/etc/containers/systemd/a.container", "[Container]\nImage=quay.io/a/b\n", 0o644, ""},
		{"/etc/containers/systemd/a.container", "[Service]\nRestart=always\n", 0o644, "no Image="},
		{"/etc/containers/systemd/a.kube", "[Kube]\n", 0o644, "no Yaml="},
		{"/etc/containers/policy.json", `{"default":[{"type":"reject"}]}`, 0o644, ""},
		{"/etc/containers/policy.json", `{"transports":{}}`, 0o644, `!no requirements in "default"`},
		{"/etc/containers/policy.json", `{"default":[`, 0o644, "!not a JSON object"},
	} {
		list := CheckFile(File{Path: c.path, Contents: []byte(c.text), Mode: c.mode, OfRoot: true})
		want, isError := strings.CutPrefix(c.want, "!")
		if len(list) > 1 || len(list) == 0 != (want == "") || len(list) == 1 && (!strings.Contains(list[0].Text, want) || list[0].Ignored == isError) {
			t.Errorf("%s %04o: %+v, want %q", c.path, c.mode, list, c.want)
		}
	}
}
