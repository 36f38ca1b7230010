package hostconfig

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
	"holdfast/engine/resource"
	"holdfast/engine/rules"
)

// loginSite is an accountSite whose tools can be turned against the login of the
// run: while the file NAME exists in the box, the tool NAME fails. sleep sleeps.
func loginSite(t *testing.T) *writeBox {
	b := accountSite(t)
	b.AddTool("runuser", `case "$2" in -c) ;; *) shift 3; exec "$@" ;; esac
case $3 in *sudo*) name=root ;; *) name=shell ;; esac
if [ -e "$BOX/etc/no-$name" ]; then echo "$name says no"; exit 1; fi
`)
	b.AddTool("visudo", `if [ -e "$BOX/etc/no-sudoers" ]; then echo "parse error near line 1" >&2; exit 1; fi`)
	b.AddTool("sudo", `if [ -e "$BOX/etc/no-rules" ]; then exit 1; fi`)
	b.AddTool("sshd", `case $1 in
-t) if [ -e "$BOX/etc/no-sshd" ]; then echo "Bad configuration option" >&2; exit 255; fi ;;
*) cat "$BOX/sshd-T" "$BOX/etc/sshd-more" 2>/dev/null || : ;;
esac
`)
	b.AddTool("ssh-keygen", `for file; do :; done; echo "256 SHA256:$(cat "$file") root (ED25519)"`)
	b.AddTool("systemctl", `case "$1" in
is-enabled) if [ "$3" = sshd.service ] && [ ! -e "$BOX/etc/no-starts" ]; then echo enabled; else echo disabled; exit 1; fi ;;
show)
	if [ -e "$BOX/etc/systemd/system/sshd.service.d/1.conf" ] && [ ! -e "$BOX/reloaded" ]; then echo NeedDaemonReload=yes; fi
	[ "$3" != sshd.service ] || printf '%s\n' ActiveState=active KillMode=process
	;;
daemon-reload) : >"$BOX/reloaded"; echo 'systemctl daemon-reload' >>"$BOX/log" ;;
*) printf 'systemctl %s\n' "$*" >>"$BOX/log" ;;
esac
`)
	b.AddTool("sleep", "echo >>\"$BOX/slept\"; exec /bin/sleep 0.2\n")
	b.Put("/etc/ssh/hostkey", "KEY", 0o600)
	b.Put("/sshd-T", "pubkeyauthentication yes\npermitrootlogin yes\nhostkey /etc/ssh/hostkey\n", 0o644)
	return b
}

// A write after which sudo, sshd or the shell of the account no longer lets the run
// in is undone, whatever the file was.
func TestAWriteThatTakesTheWayInIsUndone(t *testing.T) {
	for name, c := range map[string]struct{ path, text, says string }{
		"shell":       {"/etc/no-shell", "", "its shell no longer runs a command: shell says no"},
		"sudo":        {"/etc/no-root", "", "sudo no longer lets it become root: root says no"},
		"rules":       {"/etc/no-rules", "", "sudo no longer lets it become root"},
		"sudoers":     {"/etc/no-sudoers", "", "visudo -c finds an error in the files of sudo: parse error near line 1"},
		"sshd":        {"/etc/no-sshd", "", "sshd -t finds an error in the configuration of sshd: Bad configuration option"},
		"unit":        {"/etc/no-starts", "", "no unit of sshd would start at the next boot"},
		"host key":    {"/etc/ssh/hostkey", "OTHER", "sshd would lose the host key SHA256:KEY"},
		"AllowUsers":  {"/etc/sshd-more", "allowusers ann\nallowusers b*@*\n", "sshd would no longer let it in: AllowUsers does not name it"},
		"DenyUsers":   {"/etc/sshd-more", "denyusers ro*\n", "sshd would no longer let it in: DenyUsers ro*"},
		"AllowGroups": {"/etc/sshd-more", "allowgroups nobody-has-it\n", "AllowGroups does not name it"},
		"no keys":     {"/etc/sshd-more", "pubkeyauthentication no\n", "PubkeyAuthentication no"},
		"no root":     {"/etc/sshd-more", "permitrootlogin no\n", "PermitRootLogin no"},
	} {
		t.Run(name, func(t *testing.T) {
			longtest.SkipOthers(t, name, "sudo", "sshd", "AllowUsers")
			t.Parallel()
			b := loginSite(t)
			if name == "sudo" || name == "rules" {
				b.Login = "core"
			}
			w := b.planWrite(contents{c.path: c.text}, writtenFile(c.path))
			b.checkRefused(w, hostscript.ScriptCannot, c.says)
		})
	}
}

// Judges that were not content before cannot be used, and lists that name the account
// refuse nothing.
func TestTheWayInIsComparedWithBefore(t *testing.T) {
	for name, c := range map[string]struct{ before, path, text string }{
		"sudo wanted a password before": {"/etc/no-root", "/etc/no-shell2", ""},
		"a list that names the account": {"", "/etc/sshd-more", "allowusers ann\nallowusers root@*\n"},
		"an address with a mask":        {"", "/etc/sshd-more", "allowusers root@10.0.0.0/8\n"},
		"another account is denied":     {"", "/etc/sshd-more", "denyusers ann\ndenygroups nobody-has-it\n"},
	} {
		t.Run(name, func(t *testing.T) {
			longtest.SkipOthers(t, name, "a list that names the account")
			t.Parallel()
			b := loginSite(t)
			if c.before != "" {
				b.Put(c.before, "", 0o644)
			}
			b.mustWrite(b.planWrite(contents{c.path: c.text}, writtenFile(c.path)))
		})
	}
}

func (b *writeBox) runProof(w hostWrite, script *engine.SharedText) engine.Output {
	b.T.Helper()
	return b.RunScript(engine.Exec{Script: w.probationScript(script)})
}

// awaitUndo waits until the host has undone the write and removed its files.
func (b *writeBox) awaitUndo() {
	b.T.Helper()
	for end := time.Now().Add(time.Minute); b.Exists("var/lib/holdfast/tx/r1"); {
		if time.Now().After(end) {
			b.T.Fatal("the write was not undone")
		}
		time.Sleep(5 * time.Millisecond) // there is no event to wait for
	}
}

// A write that changes the unit of sshd restarts it while the write is on probation,
// because a reload would not show that the unit starts. The undo restarts it again.
func TestProbationOfTheUnitOfSSHD(t *testing.T) {
	t.Parallel()
	longtest.SkipSlow(t)
	b := loginSite(t)
	w := b.planWrite(contents{"/etc/systemd/system/sshd.service.d/1.conf": "[Service]\nExecStart=\n"}, testEdit{path: "/etc/systemd/system", kind: resource.PathDirectory, mode: 0o755}, testEdit{path: "/etc/systemd/system/sshd.service.d", kind: resource.PathDirectory, mode: 0o755}, writtenFile("/etc/systemd/system/sshd.service.d/1.conf"))
	w.probation = true
	b.Want(b.write(w), 0, "")
	if log := b.Log(); !strings.Contains(log, "systemctl daemon-reload\nsystemctl restart sshd.service\n") {
		t.Errorf("sshd does not use its new unit:\n%s", log)
	}
	b.Want(b.runProof(w, unproveText), hostscript.ScriptCannot, "all was put back")
	b.awaitUndo()
	b.CheckClean()
}

// A write on probation may take host keys away, but not all: the new login shows whether
// the bastion knows one that is left.
func TestHostKeysOnProbation(t *testing.T) {
	for name, c := range map[string]struct {
		probation bool
		now       string
		code      int
	}{
		"one is left": {true, "hostkey /etc/ssh/second\n", 0}, "one is left, unproved": {false, "hostkey /etc/ssh/second\n", hostscript.ScriptCannot},
		"none is left": {true, "hostkey /etc/ssh/third\n", hostscript.ScriptCannot},
	} {
		t.Run(name, func(t *testing.T) {
			longtest.SkipOthers(t, name, "one is left")
			t.Parallel()
			b := loginSite(t)
			b.AddTool("sshd", `if [ -e "$BOX/etc/sshd-more" ]; then cat "$BOX/etc/sshd-more"; else printf 'hostkey %s\n' /etc/ssh/hostkey /etc/ssh/second; fi`)
			b.Put("/etc/ssh/second", "SECOND", 0o600)
			b.Put("/etc/ssh/third", "THIRD", 0o600)
			w := b.planWrite(contents{"/etc/sshd-more": c.now}, writtenFile("/etc/sshd-more"))
			w.probation = c.probation
			b.Want(b.write(w), c.code, "")
			if c.probation && c.code == 0 {
				b.Want(b.runProof(w, confirmText), 0, "")
			}
		})
	}
}

// A write on probation stays after a new login, and is undone when the run asks for
// it, or when time is up.
func TestProbation(t *testing.T) {
	start := func(t *testing.T) (*writeBox, hostWrite, string) {
		b := loginSite(t)
		b.Put("/etc/b", "old", 0o644)
		before := b.ListTree()
		w := b.planWrite(contents{"/etc/a": "1", "/etc/b": "new", "/etc/sshd-more": "x11forwarding no\n"}, writtenFile("/etc/a"), writtenFile("/etc/b"), writtenFile("/etc/sshd-more"))
		w.probation = true
		b.Want(b.write(w), 0, "")
		if b.Read("/etc/b") != "new" || !strings.Contains(b.Log(), "systemctl reload sshd.service") {
			t.Errorf("not written, or sshd was not reloaded:\n%s", b.Log())
		}
		return b, w, before
	}
	t.Run("confirmed", func(t *testing.T) {
		longtest.SkipSlow(t)
		t.Parallel()
		b, w, _ := start(t)
		b.Want(b.runProof(w, confirmText), 0, "")
		b.Want(b.runProof(w, confirmText), 0, "") // the first answer may have been lost
		b.Want(b.runProof(w, unproveText), 0, "")
		if b.Read("/etc/b") != "new" {
			t.Error("it was undone")
		}
		b.record(w)
	})
	t.Run("undone", func(t *testing.T) {
		t.Parallel()
		b, w, before := start(t)
		b.Want(b.runProof(w, unproveText), hostscript.ScriptCannot, "all was put back")
		b.awaitUndo()
		if after := b.ListTree(); after != before {
			t.Errorf("something has changed:\n%s", after)
		}
		if strings.Count(b.Log(), "systemctl reload sshd.service") != 2 {
			t.Errorf("sshd has not read its old configuration again:\n%s", b.Log())
		}
		b.Want(b.runProof(w, confirmText), hostscript.ScriptCannot, "the host has undone the write")
		b.CheckClean()
	})
	t.Run("the session is ended", func(t *testing.T) { // by a shutdown, or by KillUserProcesses
		longtest.SkipSlow(t)
		t.Parallel()
		b, _, before := start(t)
		pid, err := strconv.Atoi(strings.TrimSpace(b.Read("/var/lib/holdfast/tx/r1/watcher")))
		b.Check(err)
		b.Check(syscall.Kill(pid, syscall.SIGTERM))
		b.awaitUndo()
		if after := b.ListTree(); after != before || strings.Count(b.Read("/slept"), "\n") > 100 {
			t.Errorf("something has changed, or the host has waited until time was up:\n%s", after)
		}
	})
	t.Run("time is up", func(t *testing.T) {
		longtest.SkipSlow(t)
		t.Parallel()
		b, _, _ := start(t)
		b.AddTool("sleep", "exit 0\n")
		b.awaitUndo()
	})
}

// These changes need a new login, and others do not.
func TestChangesThatTouchTheLogin(t *testing.T) {
	gid := 7
	x := &configDiff{facts: resource.ConfigFacts{
		LoginHome: "/srv/homes/core", OSLinks: resource.Links{"/srv": "/var/srv", "/home": "/var/home"},
		Users: map[string]resource.Login{"core": {Connects: true}, "ann": {Home: "/var/home/ann"}}, Groups: map[string]int{"wheel": gid},
	}}
	for name, want := range map[engine.Kind]map[string]bool{
		engine.UserKind:  {"core": true, "ann": false, "bob": false},
		engine.GroupKind: {"wheel": true, "new": false},
		engine.FileKind: {
			"/etc/ssh/sshd_config.d/1.conf": true, "/etc/sudoers.d/core": true, "/etc/pam.d/sshd": true, "/etc/chrony.conf": false, "/usr/local/bin/app": false,
			"/srv/homes/core/.ssh/authorized_keys": true, "/var/srv/homes/core/.ssh/authorized_keys": true, "/etc/NetworkManager/system-connections/a.nmconnection": true, "/srv/homes/core/app.conf": false, "/home/ann/.bashrc": true, "/var/home/ann/x/y": false, "/etc/systemd/system/sshd.service.d/1.conf": true,
		},
		engine.DirectoryKind: {"/srv/homes": true, "/srv/homes/core": true, "/srv/app": false, "/etc": true, "/home/ann": true, "/var": true, "/var/srv/homes": true, "/srv/homes/core/.ssh": true},
		engine.UnitKind:      {"sshd.service": true, "sshd@.service": true, "ssh.socket": true, "app.service": false, "firewalld.service": true, "dbus-broker.service": true},
		engine.OSKind:        {"x": false},
	} {
		for thing, touches := range want {
			if got := x.touchesLogin(rules.Change{Kind: name, Name: thing}); got != touches {
				t.Errorf("%s %s: %v", name, thing, got)
			}
		}
	}
}
