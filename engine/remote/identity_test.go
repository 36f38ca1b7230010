package remote_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/crypto/ssh"

	"holdfast/engine/remote"
	"holdfast/engine/remote/sshtest"
)

// TestIdentityFiles checks that key files of ssh_config count as for ssh: those that cannot be used are skipped, and a public
// key selects a key of the agent.
func TestIdentityFiles(t *testing.T) {
	t.Parallel()
	signer, private := newKey(t)
	_, other := newKey(t)
	s := sshtest.Start(t, sshtest.Config{Authorized: []ssh.PublicKey{signer.PublicKey()}})
	missing := filepath.Join(t.TempDir(), "missing")
	public := writeFile(t, "id.pub", string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
	garbage := writeFile(t, "garbage", "no key\n")
	for _, c := range []struct {
		name, file string
		inAgent    bool
		refused    string // "": the login works
	}{
		{"missing, key in the agent", missing, true, ""},
		{"missing", missing, false, "there was no key to try (read key: open " + missing},
		{"no key, key in the agent", garbage, true, ""},
		{"public key in the agent", public, true, ""},
		{"public key, not in the agent", public, false, "there is only its public key, and no agent has the private key"},
		{"the key itself", keyFile(t, private), false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := targetOf(s)
			to.Identities = nil
			to.Config = writeFile(t, "config", "Host *\n  IdentityFile "+c.file+"\n")
			agent := "none"
			if c.inAgent {
				agent = agentWith(t, &other, &private)
			}
			d := newDialer(t, remote.Options{Agent: agent})
			if c.refused == "" {
				dialTarget(t, d, to)
				return
			}
			dialRefused(t, d, to, remote.Auth, c.refused)
		})
	}
	t.Run("of the inventory", func(t *testing.T) { // a mistake in the inventory is never skipped
		to := targetOf(s)
		to.Identities = []string{missing}
		dialRefused(t, newDialer(t, remote.Options{Agent: agentWith(t, &private)}), to, remote.Config, missing)
	})
}
