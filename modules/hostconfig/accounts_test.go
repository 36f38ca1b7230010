package hostconfig

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
	"holdfast/engine/resource"
	"holdfast/modules/moduletest"
)

// accountSite returns a host with the user core, who has a password and SSH keys,
// and the group wheel.
func accountSite(t *testing.T) *writeBox {
	b := newWriteBox(t)
	b.Put("/etc/passwd", "root:x:0:0::/root:/bin/sh\ncore:x:1000:1000:Core:/home/core:/bin/sh\n", 0o644)
	b.Put("/etc/shadow", "root:*:20000:0:99999:7:::\ncore:$6$old$hash:20000:0:99999:7:::\n", 0o600)
	b.Put("/etc/group", "wheel:x:10:\n", 0o644)
	b.Put("/etc/gshadow", "", 0o600)
	b.Put("/home/core/.ssh/authorized_keys", "ssh-rsa THEIRS their key", 0o600)
	b.Check(os.Chmod(b.At("/home/core/.ssh"), 0o700))
	return b
}

var core = resource.Login{UID: 1000, GID: 1000, Group: "core", Gecos: "Core", Home: "/home/core", Shell: "/bin/sh"}

const (
	newHash = "$6$new$hash"
	key1    = "ssh-ed25519 AAAA one"
	key2    = "ssh-ed25519 BBBB two"
)

func (b *writeBox) accountWrite(groups []groupEdit, users ...loginEdit) hostWrite {
	w := b.planWrite(contents{"/etc/a": "1"}, writtenFile("/etc/a"))
	w.groups, w.users = groups, users
	w.data[resource.Digest([]byte(newHash))] = []byte(newHash)
	return w
}

func passwordDigest() string { return resource.Digest([]byte(newHash)) }

func TestAccountsAreMadeChangedAndRemoved(t *testing.T) {
	b := accountSite(t)
	uid, gid := 1234, 77
	ann := resource.User{Name: "ann", SSHKeys: []string{key1, key2}, Account: resource.Account{UID: &uid, Gecos: "Ann 'O", Groups: []string{"wheel", "web"}, Shell: "/bin/bash"}}
	w := b.accountWrite([]groupEdit{
		{want: resource.Group{Name: "web", GID: &gid, System: true, PasswordHash: passwordDigest()}},
		{want: resource.Group{Name: "wheel", Absent: true}, exists: true},
	},
		loginEdit{want: ann, account: true, keys: true, join: []string{"wheel", "web"}},
		loginEdit{want: resource.User{Name: "core", PasswordHash: passwordDigest(), Account: resource.Account{Gecos: "Admin", Shell: "/bin/sh"}}, was: &core, account: true, password: true, keep: true})
	b.mustWrite(w)
	for _, want := range []string{
		"groupadd -g 77 -r -- web\n", "groupdel -- wheel\n", "useradd -c Ann 'O -s /bin/bash -u 1234 -m -- ann\n", "usermod -a -G wheel -- ann\n", "usermod -a -G web -- ann\n", "usermod -c Admin -- core\n", "runuser -u ann\n",
	} {
		if !strings.Contains(b.Log(), want) {
			t.Errorf("no %q in\n%s", want, b.Log())
		}
	}
	if strings.Contains(b.Log(), "$6$") {
		t.Error("a hash is among the arguments")
	}
	shadow := b.Read("/etc/shadow")
	if !strings.Contains(shadow, "core:"+newHash+":") || !strings.Contains(shadow, "ann:*:") || !strings.Contains(b.Read("/etc/gshadow"), "web:"+newHash+":") {
		t.Errorf("shadow:\n%s", shadow)
	}
	if got := b.Read("/home/ann/.ssh/authorized_keys"); got != "# BEGIN holdfast\n"+key1+"\n"+key2+"\n# END holdfast\n" {
		t.Errorf("keys:\n%s", got)
	}
	for path, mode := range map[string]int{"/home/ann/.ssh": 0o700, "/home/ann/.ssh/authorized_keys": 0o600, "/var/lib/holdfast/originals/password-core": 0o600} {
		if got := b.Node(path).Mode; got != mode {
			t.Errorf("%s has mode %o", path, got)
		}
	}
	if got := b.Read("/var/lib/holdfast/originals/password-core"); got != "$6$old$hash" {
		t.Errorf("original hash %q", got)
	}

	// The hash is restored, and its original is removed.
	w = b.accountWrite(nil, loginEdit{want: resource.User{Name: "core"}, was: &core, password: true, back: true},
		loginEdit{want: resource.User{Name: "ann", Account: resource.Account{Absent: true}}, was: &resource.Login{}, account: true, keys: true})
	b.mustWrite(w)
	if shadow := b.Read("/etc/shadow"); !strings.Contains(shadow, "core:$6$old$hash:") || strings.Contains(shadow, "ann") {
		t.Errorf("shadow:\n%s", shadow)
	}
	if b.Exists("var/lib/holdfast/originals/password-core") || !b.Exists("home/ann") {
		t.Error("the original hash is left, or the home is not")
	}
	w = b.accountWrite(nil, loginEdit{want: resource.User{Name: "core"}, was: &core, password: true})
	b.mustWrite(w)
	if shadow := b.Read("/etc/shadow"); !strings.Contains(shadow, "core:*:") {
		t.Errorf("shadow:\n%s", shadow)
	}
}

// The home of a removed user stays. It has no keys of holdfast any more, which would be valid for a new user of this name.
func TestARemovedUserLeavesNoKeys(t *testing.T) {
	for name, fails := range map[string]bool{"removed": false, "undone": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := accountSite(t)
			const list, theirs = "/home/core/.ssh/authorized_keys", "ssh-rsa THEIRS their key\n"
			ours := "# BEGIN holdfast\n" + key1 + "\n# END holdfast\n"
			b.Put(list, theirs+ours, 0o600)
			login := core
			login.Keys = []string{key1}
			absent := resource.User{Name: "core", Account: resource.Account{Absent: true}}
			a := &accountDiff{want: resource.Config{Users: []resource.User{absent}}, facts: resource.ConfigFacts{Users: map[string]resource.Login{"core": login}}}
			w := b.accountWrite(nil, a.newLoginEdit(resource.User{}, absent))
			if !fails {
				b.mustWrite(w)
				if b.Read(list) != theirs || strings.Contains(b.Read("/etc/passwd"), "core") {
					t.Errorf("keys:\n%s\nlog:\n%s", b.Read(list), b.Log())
				}
				return
			}
			b.Put("/no-x.service", "", 0o644)
			w.units = append(w.units, unitEdit{name: "x.service", do: "enable"})
			b.Want(b.write(w), hostscript.ScriptCannot, "write: all was put back")
			if b.Read(list) != theirs+ours || !strings.Contains(b.Read("/etc/passwd"), "core") {
				t.Errorf("keys:\n%s\nlog:\n%s", b.Read(list), b.Log())
			}
		})
	}
}

// userdel also removes the user's own group, and groupdel fails for a missing group.
func TestAUserAndItsGroupAreRemoved(t *testing.T) {
	b := accountSite(t)
	b.Put("/etc/passwd", b.Read("/etc/passwd")+"app:x:1001:1001::/:/bin/sh\n", 0o644)
	b.Put("/etc/group", b.Read("/etc/group")+"app:x:1001:\nother:x:1002:\n", 0o644)
	w := b.accountWrite([]groupEdit{
		{want: resource.Group{Name: "app", Absent: true}, exists: true},
		{want: resource.Group{Name: "other", Absent: true}, exists: true},
	}, loginEdit{want: resource.User{Name: "app", Account: resource.Account{Absent: true}}, was: &resource.Login{UID: 1001}, account: true})
	b.mustWrite(w)
	if strings.Contains(b.Read("/etc/passwd"), "app") || b.Read("/etc/group") != "wheel:x:10:\n" {
		t.Errorf("group:\n%s", b.Read("/etc/group"))
	}
}

func TestSSHKeysGoWhereSSHDReadsThem(t *testing.T) {
	longtest.SkipSlow(t)
	const theirs = "ssh-rsa THEIRS their key"
	type keysCase struct {
		sshd, before string // before: contents of authorized_keys; "-": no such file
		keys         []string
		after, own   string // own: contents of authorized_keys.d/ignition
	}
	sites := map[string]map[string]keysCase{} // users by name, by the sshd of their host
	for name, test := range map[string]keysCase{
		"beside others":          {before: theirs, keys: []string{key1}, after: theirs + "\n# BEGIN holdfast\n" + key1 + "\n# END holdfast\n", own: "-"},
		"no others":              {before: "-", keys: []string{key1}, after: "# BEGIN holdfast\n" + key1 + "\n# END holdfast\n", own: "-"},
		"replaced":               {before: "a\n# BEGIN holdfast\nold\n# END holdfast\nb\n\n", keys: []string{key2}, after: "a\nb\n\n# BEGIN holdfast\n" + key2 + "\n# END holdfast\n", own: "-"},
		"removed":                {before: "a\n# BEGIN holdfast\nold\n# END holdfast\nb\n", after: "a\nb\n", own: "-"},
		"removed, no others":     {before: "# BEGIN holdfast\nold\n# END holdfast\n", after: "-", own: "-"},
		"without an end":         {before: "# BEGIN holdfast\na\nb\n", keys: []string{key1}, after: "a\nb\n# BEGIN holdfast\n" + key1 + "\n# END holdfast\n", own: "-"},
		"an end first":           {before: "# END holdfast\na\n# BEGIN holdfast\nb\n", keys: []string{key1}, after: "a\nb\n# BEGIN holdfast\n" + key1 + "\n# END holdfast\n", own: "-"},
		"nothing to remove":      {before: theirs, after: theirs, own: "-"},
		"fragment":               {sshd: "authorizedkeysfile .ssh/authorized_keys .ssh/authorized_keys.d/ignition", before: theirs, keys: []string{key1, key2}, after: theirs, own: key1 + "\n" + key2 + "\n"},
		"fragment by command":    {sshd: "authorizedkeyscommand /usr/libexec/ssh-key-dir %u", before: "-", keys: []string{key1}, after: "-", own: key1 + "\n"},
		"fragment, removed":      {sshd: "x authorized_keys.d", before: theirs, after: theirs, own: "-"},
		"fragment, once a block": {sshd: "x authorized_keys.d", before: "a\n# BEGIN holdfast\nold\n# END holdfast\n", keys: []string{key1}, after: "a\n", own: key1 + "\n"},
	} {
		if sites[test.sshd] == nil {
			sites[test.sshd] = map[string]keysCase{}
		}
		sites[test.sshd][name] = test
	}
	for sshd, users := range sites {
		t.Run(sshd, func(t *testing.T) {
			t.Parallel()
			b := accountSite(t)
			if sshd != "" {
				b.Put("/sshd-T", sshd+"\n", 0o644)
			}
			names := slices.Sorted(maps.Keys(users))
			var edits []loginEdit
			for i, name := range names {
				user := fmt.Sprint("u", i)
				home := "/home/" + user
				b.Mkdir(home)
				if before := users[name].before; before != "-" {
					b.Put(home+"/.ssh/authorized_keys", before, 0o600)
					b.Check(os.Chmod(b.At(home+"/.ssh"), 0o700))
				}
				b.Put("/etc/passwd", b.Read("/etc/passwd")+user+":x:1000:1000::"+home+":/bin/sh\n", 0o644)
				edits = append(edits, loginEdit{want: resource.User{Name: user, SSHKeys: users[name].keys}, was: &resource.Login{UID: 1000, GID: 1000, Group: "core", Home: home, Shell: "/bin/sh"}, keys: true})
			}
			for range 2 {
				b.mustWrite(b.accountWrite(nil, edits...))
				for i, name := range names {
					home := fmt.Sprint("/home/u", i)
					for path, want := range map[string]string{home + "/.ssh/authorized_keys": users[name].after, home + "/.ssh/authorized_keys.d/ignition": users[name].own} {
						got := "-"
						if b.Exists(path[1:]) {
							got = b.Read(path)
						}
						if got != want {
							t.Errorf("%s: %s:\n%s\nwant:\n%s", name, path, got, want)
						}
					}
				}
			}
		})
	}
}

// If a write fails after it has changed accounts, it restores the accounts.
func TestAccountsAreUndone(t *testing.T) {
	for name, sabotage := range map[string]func(*writeBox){
		"password": func(b *writeBox) { b.Put("/fail-hash", "", 0o600) },
		"unit":     func(b *writeBox) { b.Put("/no-x.service", "", 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			longtest.SkipOthers(t, name, "password")
			t.Parallel()
			b := accountSite(t)
			w := b.accountWrite([]groupEdit{{want: resource.Group{Name: "web"}}},
				loginEdit{want: resource.User{Name: "ann"}, account: true},
				loginEdit{want: resource.User{Name: "core", SSHKeys: []string{key1}, PasswordHash: passwordDigest()}, was: &core, password: true, keys: true})
			w.units = []unitEdit{{name: "x.service", do: "enable"}}
			sabotage(b)
			before := b.ListTree()
			out := b.write(w)
			b.Want(out, hostscript.ScriptCannot, "write: all was put back")
			if strings.Contains(out.Stderr, "$6$") {
				t.Errorf("a hash is shown: %s", out.Stderr)
			}
			for line := range strings.Lines(moduletest.DifferingLinesOf(before, b.ListTree())) {
				if !strings.Contains(line, "/originals/password-core") && !strings.Contains(line, " /home/") && !strings.Contains(line, " /wants ") {
					t.Errorf("changed: %s", line)
				}
			}
			if got := b.Read("/home/core/.ssh/authorized_keys"); strings.TrimSpace(got) != "ssh-rsa THEIRS their key" {
				t.Errorf("keys:\n%s", got)
			}
		})
	}
}

// A file may belong to a user that the same write creates.
func TestAFileMayBelongToANewUser(t *testing.T) {
	longtest.SkipSlow(t)
	b := accountSite(t)
	b.AddTool("chown", "printf 'chown %s\\n' \"$*\" >>$BOX/log\n")
	w := b.accountWrite([]groupEdit{{want: resource.Group{Name: "web"}}}, loginEdit{want: resource.User{Name: "ann"}, account: true})
	w.edits[0].user, w.edits[0].group = "ann", "web"
	w.edits = append(w.edits, newPathEdit(pathState{path: "/etc/link", kind: resource.PathLink, data: "x", user: "ann", group: "web"}, resource.PathFacts{}))
	b.mustWrite(w)
	made, owned := strings.Index(b.Log(), "useradd"), strings.Index(b.Log(), "chown ann:web "+b.At("/var/lib/holdfast/tx/r1/new/"))
	if made < 0 || owned < made || strings.Count(b.Log(), "chown") != 2 || !strings.Contains(b.Log(), "chown -h ann:web ./link-") {
		t.Errorf("log:\n%s", b.Log())
	}
	if b.Read("/etc/a") != "1" || b.Node("/etc/a").Mode != 0o644 {
		t.Errorf("%+v", b.Node("/etc/a"))
	}
}

func TestTheFirstHashOfAUserIsKept(t *testing.T) {
	longtest.SkipSlow(t)
	b := accountSite(t)
	for _, first := range []bool{true, false} {
		b.mustWrite(b.accountWrite(nil, loginEdit{want: resource.User{Name: "core", PasswordHash: passwordDigest()}, was: &core, password: true, keep: first}))
	}
	if got := b.Read("/var/lib/holdfast/originals/password-core"); got != "$6$old$hash" {
		t.Errorf("original hash %q", got)
	}
}
