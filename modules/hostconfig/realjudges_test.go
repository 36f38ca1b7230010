package hostconfig

import (
	"os"
	"os/exec"
	"testing"

	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
)

// The real sshd and visudo judge documents. sshd finds no directory for its privileges on
// machines where it has never run.
func TestTheWayInByRealJudges(t *testing.T) {
	for _, needed := range []string{"/usr/sbin/sshd", "/usr/sbin/visudo", "/usr/bin/ssh-keygen", "/run/sshd"} {
		if _, err := os.Stat(needed); err != nil {
			t.Skip(err)
		}
	}
	const sudoers, snippet = "/etc/sudoers.d/app", "/etc/ssh/sshd_config.d/10-app.conf"
	for name, c := range map[string]struct {
		path, text string
		mode       int
		says       string // "": the document is written
	}{
		"sudo, mode of Ignition":  {sudoers, "app ALL=(ALL) NOPASSWD: ALL\n", 0o644, ""},
		"sudo, only for root":     {sudoers, "app ALL=(ALL) NOPASSWD: /bin/ls\n", 0o400, ""},
		"sudo, a typo":            {sudoers, "app ALL=(ALL NOPASSWD: ALL\n", 0o440, "visudo -c finds an error in the files of sudo"},
		"sshd, a setting":         {snippet, "MaxAuthTries 4\nX11Forwarding no\n", 0o644, ""},
		"sshd, unknown":           {snippet, "PermitRootLogins yes\n", 0o644, "sshd -t finds an error"},
		"sshd, bad value":         {snippet, "LoginGraceTime soon\n", 0o644, "sshd -t finds an error"},
		"sshd, no root":           {snippet, "PermitRootLogin no\n", 0o644, "PermitRootLogin no"},
		"sshd, no root by a key":  {snippet, "PermitRootLogin prohibit-password\n", 0o644, ""},
		"sshd, others only":       {snippet, "AllowUsers ann bob@10.*\n", 0o644, "AllowUsers does not name it"},
		"sshd, two lists":         {snippet, "AllowUsers root\nDenyUsers ann ro?t\n", 0o644, "DenyUsers ro?t"},
		"sshd, a match":           {snippet, "Match User root\n\tPubkeyAuthentication no\n", 0o644, "PubkeyAuthentication no"},
		"sshd, a match of others": {snippet, "Match User ann\n\tPubkeyAuthentication no\n", 0o644, ""},
		"sshd, no match":          {snippet, "Match Nobody root\n\tPubkeyAuthentication no\n", 0o644, "sshd -t finds an error"},
	} {
		t.Run(name, func(t *testing.T) {
			longtest.SkipOthers(t, name, "sudo, mode of Ignition", "sshd, two lists")
			t.Parallel()
			b := loginSite(t)
			b.AddTool("sshd", `exec /usr/sbin/sshd -f "$BOX/etc/ssh/sshd_config" "$@"`)
			b.AddTool("visudo", `exec /usr/sbin/visudo "$@"`)
			b.AddTool("ssh-keygen", `exec /usr/bin/ssh-keygen "$@"`)
			b.Check(os.Remove(b.At("/etc/ssh/hostkey")))
			if out, err := exec.Command("/usr/bin/ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", b.At("/etc/ssh/hostkey")).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			b.Put("/etc/ssh/sshd_config", "Include "+b.At("/etc/ssh/sshd_config.d")+"/*.conf\nHostKey "+b.At("/etc/ssh/hostkey")+"\nPermitRootLogin yes\n", 0o600)
			b.Put("/etc/ssh/sshd_config.d/50-other.conf", "UsePAM no\n", 0o644)
			b.Put("/etc/sudoers", "root ALL=(ALL) ALL\n@includedir "+b.At("/etc/sudoers.d")+"\n", 0o440)
			b.Put("/etc/sudoers.d/other", "ann ALL=(ALL) ALL\n", 0o440)
			edit := writtenFile(c.path)
			edit.mode = c.mode
			w := b.planWrite(contents{c.path: c.text}, edit)
			if c.says == "" {
				b.mustWrite(w)
				return
			}
			b.checkRefused(w, hostscript.ScriptCannot, c.says)
		})
	}
}
