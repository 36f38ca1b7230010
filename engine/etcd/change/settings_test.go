package change

import (
	"os"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/etcd/setting"
	"holdfast/engine/hostscript"
)

// probeSettings runs the probe, and returns the settings that it finds.
func probeSettings(t *testing.T, b *box) setting.Found {
	t.Helper()
	code, out := b.run(probeScript(b.members))
	if code != 0 {
		t.Fatal(code, out)
	}
	return readProbe(out).settings
}

func newConfigureBox(t *testing.T) *box {
	t.Helper()
	b := newBox(t)
	b.addTool("systemctl", `case $* in
"restart etcd.service") ! grep -q refused "`+b.root+tunedPath+`" 2>/dev/null ;;
"show -p User --value etcd.service" | "show --property=User --value etcd.service") echo etcd ;;
esac`)
	return b
}

func wantedQuota(value string) setting.Wanted {
	return setting.Wanted{Values: setting.Values{"quota_backend_bytes": value}, User: "etcd"}
}

// TestConfigure: the settings are read back as they were written; without settings, no file is left.
func TestConfigure(t *testing.T) {
	t.Parallel()
	b := newConfigureBox(t)
	if code, out := b.run(configureScript(testOwner, b.members, wantedQuota("7"))); code != 0 {
		t.Fatal(code, out)
	}
	if f := probeSettings(t, b); f.Values.File() != "ETCD_QUOTA_BACKEND_BYTES=7\n" || f.Unread || f.User != "etcd" || f.OwnUser != "etcd" {
		t.Errorf("%+v", f)
	}
	if info, err := os.Stat(b.root + tunedPath); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	check(t, os.Chmod(b.root+"/etc/systemd/system/etcd.service.d/51-holdfast-settings.conf", 0o644))
	if code, out := b.run(configureScript(testOwner, b.members, setting.Wanted{})); code != 0 {
		t.Fatal(code, out)
	}
	if f := probeSettings(t, b); len(f.Values) > 0 || f.OwnUser != "" || len(b.list("etc/systemd/system/etcd.service.d")) > 0 {
		t.Errorf("%+v", f)
	}
	for _, name := range b.list("var/lib/holdfast") {
		if strings.Contains(name, "settings") {
			t.Error("left:", name)
		}
	}
}

// TestConfigureSurvival: a member gets the drop-in with which it survives a soft reboot, also without other settings, and loses it again.
func TestConfigureSurvival(t *testing.T) {
	t.Parallel()
	b := newConfigureBox(t)
	for _, survives := range []bool{true, false} {
		if code, out := b.run(configureScript(testOwner, b.members, setting.Wanted{Survives: survives})); code != 0 {
			t.Fatal(code, out)
		}
		if f := probeSettings(t, b); f.Survives != survives || len(f.Values) > 0 || f.OwnUser != "" || f.Unread {
			t.Errorf("%+v", f)
		}
	}
	if left := b.list("etc/systemd/system/etcd.service.d"); len(left) > 0 {
		t.Error(left)
	}
}

// TestConfigureGoesBack: an etcd that does not start with its new settings gets the old ones, also those of the first time: none.
// A run that was cut short before did not overwrite them.
func TestConfigureGoesBack(t *testing.T) {
	t.Parallel()
	b := newConfigureBox(t)
	b.addTool("cp", "exit 1") // a full disk does not keep the old settings from coming back
	for _, before := range []string{"", "7"} {
		if before != "" {
			if code, out := b.run(configureScript(testOwner, b.members, wantedQuota(before))); code != 0 {
				t.Fatal(code, out)
			}
		}
		want := probeSettings(t, b)
		script := configureScript(testOwner, b.members, wantedQuota("refused"))
		for _, at := range []string{"status=0\n", "\tsystemctl daemon-reload", "\t\t\tln -fP \"$file.old\" \"$file.new\"", `rm -f "$unread" "$tuned.old"`} {
			cut := "exit 7\n"
			if strings.Contains(at, "ln") { // between the two files, if there are any
				if before == "" {
					continue
				}
				cut = "[ \"$file\" = \"$tuned\" ] || exit 7\n"
			}
			if code, out := b.run(Script{Text: strings.Replace(script.Text, at, cut+at, 1)}); code != 7 {
				t.Fatal(at, code, out)
			}
			if f := probeSettings(t, b); !f.Unread {
				t.Errorf("cut at %q: %+v", at, f)
			}
		}
		code, out := b.run(configureScript(testOwner, b.members, wantedQuota("refused")))
		if code != 1 || !strings.Contains(out, "does not start with these settings") {
			t.Error(code, out)
		}
		if f := probeSettings(t, b); f.Values.File() != want.Values.File() || f.Unread || f.OwnUser != want.OwnUser {
			t.Errorf("%+v, want %+v", f, want)
		}
	}
}

// TestSettingsWithoutDropin: settings that the unit does not read are none.
func TestSettingsWithoutDropin(t *testing.T) {
	t.Parallel()
	b := newConfigureBox(t)
	b.write(tunedPath, "ETCD_QUOTA_BACKEND_BYTES=7\n")
	if f := probeSettings(t, b); len(f.Values) > 0 {
		t.Errorf("%+v", f)
	}
}

// TestSettingsLeaveWithTheMember: a member that is added again does not get the settings of the last.
func TestSettingsLeaveWithTheMember(t *testing.T) {
	t.Parallel()
	b := newConfigureBox(t)
	started := startScript(testOwner, settingsText{name: "etcd-0", managed: b.members}, wantedQuota("7"))
	if code, out := b.run(started); code != 0 {
		t.Fatal(code, out)
	}
	if f := probeSettings(t, b); f.Values.File() != "ETCD_QUOTA_BACKEND_BYTES=7\n" || f.Unread {
		t.Errorf("%+v", f)
	}
	if code, out := b.run(setAsideScript(testOwner, b.members)); code != 0 {
		t.Fatal(code, out)
	}
	if left := append(b.list("etc/systemd/system/etcd.service.d"), b.list("var/lib/holdfast")...); strings.Contains(strings.Join(left, " "), "settings") {
		t.Error(left)
	}
}

// TestConfigureUnderTheHold: without the hold of the run, nothing is written, and etcd is not restarted.
func TestConfigureUnderTheHold(t *testing.T) {
	t.Parallel()
	b := newConfigureBox(t)
	b.write("var/lib/holdfast/hold.json", "{\n\"schema\":1,\n\"kind\":\"person\",\n\"holder\":\"somebody\"\n}\n")
	if code, _ := b.run(configureScript(testOwner, b.members, wantedQuota("7"))); code != hostscript.ScriptHeld {
		t.Error(code)
	}
	if f := probeSettings(t, b); len(f.Values) > 0 || f.Unread {
		t.Errorf("%+v", f)
	}
}

// TestUserOfKeys: keys belong to the account as which etcd runs. Another one in the inventory is for members to come.
func TestUserOfKeys(t *testing.T) {
	t.Parallel()
	r := &Run{Cluster: engine.Cluster{Managed: &engine.ManagedMembers{Settings: &engine.EtcdSettings{User: "new"}}}}
	found := setting.NewFound()
	found.User, found.OwnUser = "old", "old"
	r.tuned = map[string]setting.Found{"etcd-0": found}
	if got := r.userOf(engine.Host{Name: "etcd-0"}) + " " + r.userOf(engine.Host{Name: "etcd-1"}); got != "old new" {
		t.Error(got)
	}
}

// TestPreflightOfTheUser: a host without the account gets no member.
func TestPreflightOfTheUser(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.addTool("id", `[ "$1" = etcd ]`)
	for user, want := range map[string]int{"": 0, "etcd": 0, "nobody-here": 1} {
		b.members.Settings = &engine.EtcdSettings{User: user}
		if code, out := b.run(preflightScript(b.members)); code != want || want == 1 && !strings.Contains(out, "there is no account nobody-here") {
			t.Error(user, code, out)
		}
	}
}

// TestKeysOfTheNextUser tests that a member that replaces another can read the keys of its host, although it runs as another
// user. If others can change a folder of their path, the keys are left alone, and etcd does not start.
func TestKeysOfTheNextUser(t *testing.T) {
	t.Parallel()
	b := newConfigureBox(t)
	b.members.CA = &engine.EtcdCA{Folder: "/pki"}
	b.addTool("chown", `echo "$(pwd -P) $*" >>"`+b.root+`/owners"`)
	b.write("owners", "")
	started := startScript(testOwner, settingsText{name: "etcd-0", managed: b.members}, wantedQuota("7"))
	b.mustRun(started) // without keys
	b.write("pki/current/server.key", "key")
	b.write("pki/current/peer.key", "key")
	check(t, os.Chmod(b.root+"/pki", 0o777))
	if code, out := b.run(started); code == 0 || !strings.Contains(out, "can be changed by others than root") || b.read("owners") != "" {
		t.Errorf("%d, %s, %s", code, out, b.read("owners"))
	}
	check(t, os.Chmod(b.root+"/pki", 0o755))
	b.mustRun(started)
	folder := b.root + "/pki/current "
	if got, want := b.read("owners"), folder+"-h etcd ./server.key\n"+folder+"-h etcd ./peer.key\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
