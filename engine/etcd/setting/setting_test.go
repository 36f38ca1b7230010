package setting_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd/setting"
)

func wantedOf(s *engine.EtcdSettings) setting.Wanted {
	c := engine.Cluster{Name: "main", ClientPort: 2379, TLS: &engine.TLS{}, Managed: &engine.ManagedMembers{Settings: s}}
	return setting.NewWanted(c, engine.Host{Name: "a", Address: "fd00::1"})
}

func foundOf(file, user, ownUser string) setting.Found {
	f := setting.NewFound()
	for line := range strings.Lines(file) {
		f.ReadLine("setting", strings.TrimSpace(line))
	}
	f.ReadLine("user", user)
	f.ReadLine("ownuser", ownUser)
	return f
}

// TestFile tests that the file has the settings of the inventory, as variables that etcd reads.
func TestFile(t *testing.T) {
	t.Parallel()
	w := wantedOf(&engine.EtcdSettings{
		QuotaBackendBytes: 4 << 30, HeartbeatInterval: engine.Duration(250 * time.Millisecond), ElectionTimeout: engine.Duration(3 * time.Second),
		AutoCompactionRetention: "0", DeriveURLs: true, User: "etcd",
	})
	const want = `ETCD_ADVERTISE_CLIENT_URLS=https://[fd00::1]:2379
ETCD_AUTO_COMPACTION_MODE=periodic
ETCD_AUTO_COMPACTION_RETENTION=0
ETCD_ELECTION_TIMEOUT=3000
ETCD_HEARTBEAT_INTERVAL=250
ETCD_LISTEN_CLIENT_URLS=https://[fd00::1]:2379,https://127.0.0.1:2379
ETCD_QUOTA_BACKEND_BYTES=4294967296
`
	if got := w.Values.File(); got != want {
		t.Errorf("%s", got)
	}
	if got := w.Dropin("/f"); got != "# written by holdfast etcd members\n[Service]\nEnvironmentFile=/f\nUser=etcd\n" {
		t.Errorf("%s", got)
	}
	if j := w.Compare(foundOf(want, "etcd", "etcd"), 1<<20); j != (setting.Judgement{}) {
		t.Errorf("%+v", j)
	}
	if none := wantedOf(nil); none.Values.File() != "" || none.Dropin("/f") != "" || none.Compare(setting.NewFound(), 5<<30) != (setting.Judgement{}) {
		t.Errorf("%+v", none)
	}
}

// TestCompare: each difference is named with its old and new value, and refused where no member can have it, or not beside others.
func TestCompare(t *testing.T) {
	t.Parallel()
	at := map[string]string{"settings": "a.hcl:3:3", "user": "a.hcl:4:5", "election_timeout": "a.hcl:5:5"}
	seconds := func(n int) engine.Duration { return engine.Duration(time.Duration(n) * time.Second) }
	for name, x := range map[string]struct {
		want                 *engine.EtcdSettings
		found                setting.Found
		database             int64
		change, clash, fixed string // beginnings
	}{
		"other":   {want: &engine.EtcdSettings{QuotaBackendBytes: 1 << 30}, found: foundOf("ETCD_QUOTA_BACKEND_BYTES=5\n", "", ""), change: "quota_backend_bytes: 5 → 1073741824"},
		"removed": {want: nil, found: foundOf("ETCD_QUOTA_BACKEND_BYTES=5\nETCD_NAME=x\n", "", ""), change: "name: x → not set; quota_backend_bytes: 5 → not set"},
		"unread":  {want: nil, found: setting.Found{Unread: true}, change: "a run that ended early"},
		"too small": {
			want: &engine.EtcdSettings{QuotaBackendBytes: 1 << 30}, found: setting.NewFound(), database: 1 << 30,
			change: "quota_backend_bytes: not set → 1073741824", clash: "a.hcl:3:3: its database has 1073741824 bytes",
		},
		"default too small": {
			want: nil, found: foundOf("ETCD_QUOTA_BACKEND_BYTES=8589934592\n", "", ""), database: 3 << 30,
			change: "quota_backend_bytes: 8589934592 → not set", clash: "its database has 3221225472 bytes, and with quota_backend_bytes 2147483648",
		},
		"beats too slowly for the others": {
			want: &engine.EtcdSettings{HeartbeatInterval: seconds(1), ElectionTimeout: seconds(5)}, found: setting.NewFound(),
			change: "election_timeout: not set → 5000; heartbeat_interval: not set → 1000", clash: "a.hcl:5:5: members with heartbeat_interval 1000 ms and with election_timeout 1000 ms",
		},
		"others beat too slowly": {
			want: nil, found: foundOf("ETCD_HEARTBEAT_INTERVAL=1000\nETCD_ELECTION_TIMEOUT=5000\n", "", ""),
			change: "election_timeout: 5000 → not set", clash: "members with heartbeat_interval 1000 ms and with election_timeout 1000 ms",
		},
		"fits the others": {
			want: &engine.EtcdSettings{HeartbeatInterval: seconds(1) / 2, ElectionTimeout: seconds(5)}, found: setting.NewFound(),
			change: "election_timeout: not set → 5000; heartbeat_interval: not set → 500",
		},
		"other user":   {want: &engine.EtcdSettings{User: "etcd"}, found: foundOf("", "", ""), fixed: "a.hcl:4:5: user: root → etcd"},
		"user removed": {want: &engine.EtcdSettings{}, found: foundOf("", "etcd", "etcd"), fixed: "a.hcl:4:5: user: etcd → not set"},
		"other folder of the log": {
			want: &engine.EtcdSettings{WALDir: "/b", QuotaBackendBytes: 1 << 30}, found: foundOf("ETCD_WAL_DIR=/a\n", "", ""),
			change: "quota_backend_bytes: not set → 1073741824", fixed: "a.hcl:3:3: wal_dir: /a → /b",
		},
		"user of unit": {want: &engine.EtcdSettings{User: "etcd"}, found: foundOf("", "etcd", "")},
	} {
		if x.want != nil {
			x.want.Positions = at
		}
		j := wantedOf(x.want).Compare(x.found, x.database)
		for i, pair := range [][2]string{{j.Change, x.change}, {j.Clash, x.clash}, {j.Fixed, x.fixed}} {
			if !strings.HasPrefix(pair[0], pair[1]) || pair[1] == "" && pair[0] != "" {
				t.Errorf("%s, %d: %q, want %q", name, i, pair[0], pair[1])
			}
		}
	}
}

// TestDropinWaitsForTheDisk: etcd must not start with an empty log because the disk of its log is not mounted.
func TestDropinWaitsForTheDisk(t *testing.T) {
	t.Parallel()
	w := wantedOf(&engine.EtcdSettings{WALDir: "/disk/wal"})
	const want = "# written by holdfast etcd members\n[Unit]\nRequiresMountsFor=/disk/wal\n[Service]\nEnvironmentFile=/f\n"
	if got := w.Dropin("/f"); got != want {
		t.Errorf("%s", got)
	}
}

// TestSurvival: the drop-in lets a member keep running during a soft reboot, and a restart makes the difference.
func TestSurvival(t *testing.T) {
	t.Parallel()
	c := engine.Cluster{Name: "main", Managed: &engine.ManagedMembers{SurviveSoftReboots: true}}
	w := setting.NewWanted(c, engine.Host{Name: "a"})
	text := w.Dropin("/f")
	for _, line := range []string{
		"[Unit]", "SurviveFinalKillSignal=yes", "IgnoreOnIsolate=yes", "DefaultDependencies=no", "After=basic.target", "[Service]", "EnvironmentFile=/f", "PrivateMounts=yes",
		"Conflicts=reboot.target kexec.target poweroff.target halt.target rescue.target emergency.target",
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("no line %q in:\n%s", line, text)
		}
	}
	found := setting.NewFound()
	if j := w.Compare(found, 0); j.Change != "survive_soft_reboots: false → true" || j.Clash+j.Fixed != "" {
		t.Errorf("%+v", j)
	}
	found.ReadLine("survives", "")
	if j := w.Compare(found, 0); j != (setting.Judgement{}) || w.On(found).Dropin("/f") != text {
		t.Errorf("%+v", j)
	}
	if j := wantedOf(nil).Compare(found, 0); j.Change != "survive_soft_reboots: true → false" {
		t.Errorf("%+v", j)
	}
}

// TestHostileSettings: a host can print anything about its settings. It cannot hide steps of a plan with control characters, or
// fill the terminal.
func TestHostileSettings(t *testing.T) {
	t.Parallel()
	f := foundOf("ETCD_\x1b[8mNAME=\x1b[2J\rx\nETCD_WAL_DIR=/\x1b[2J\n", "\x1b[2J", "\x1b[2J")
	for i := range 5000 {
		f.Values.AddLine(fmt.Sprintf("ETCD_X%d=%s", i, strings.Repeat("x", 500)))
	}
	j := wantedOf(&engine.EtcdSettings{User: "etcd", WALDir: "/b"}).Compare(f, 0)
	for _, text := range []string{j.Change, j.Fixed} {
		if text == "" || strings.ContainsAny(text, "\x1b\r") || len(text) > 6000 {
			t.Errorf("%d bytes: %.200q", len(text), text)
		}
	}
	if !strings.Contains(j.Change, "; and 49") {
		t.Errorf("%.6000q", j.Change)
	}
}

// TestOn: a change of other settings changes neither the user nor the folder of the log of a member.
func TestOn(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ wanted, unit, own, want string }{
		{"", "etcd", "", ""}, {"", "etcd", "etcd", "etcd"}, {"etcd", "etcd", "", "etcd"}, {"other", "etcd", "", ""}, {"other", "etcd", "etcd", "etcd"}, {"root", "", "", "root"},
	} {
		if got := wantedOf(&engine.EtcdSettings{User: x.wanted}).On(foundOf("", x.unit, x.own)).User; got != x.want {
			t.Errorf("%+v: %q", x, got)
		}
	}
	w := wantedOf(&engine.EtcdSettings{WALDir: "/b"})
	if on := w.On(foundOf("ETCD_WAL_DIR=/a\n", "", "")); on.Values.File() != "ETCD_WAL_DIR=/a\n" || w.On(setting.NewFound()).Values.File() != "" || w.Values.File() != "ETCD_WAL_DIR=/b\n" {
		t.Errorf("%+v", on)
	}
}
