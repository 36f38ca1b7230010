package savedplan

import (
	"crypto/hmac"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"

	"golang.org/x/crypto/argon2"

	"holdfast/engine"
	"holdfast/engine/planner/approval"
	"holdfast/engine/report"
)

// A saved plan contains no secrets, but apply must notice a changed secret. So
// the plan has one salted digest of all commands that contain a secret. A
// reader of the file can only guess all secrets at once, and each guess costs
// as much time and memory as the digest.
const (
	sealPasses = 3
	sealMemory = 64 << 10 // KiB
	sealLength = 32
	saltLength = 16
)

func sealPlan(p engine.Plan, sensitive []string) engine.Plan {
	secrets := secretsOf(p, sensitive)
	p = report.HideSensitive(p, sensitive)
	if len(secrets) > 0 {
		salt := make([]byte, saltLength)
		_, _ = rand.Read(salt) // never fails, as documented
		p.Secrets = &engine.Seal{Salt: hex.EncodeToString(salt), Digest: hex.EncodeToString(digestOf(secrets, salt))}
	}
	return p
}

// Check returns an error unless a plan is the same as a saved plan, or has no work
// because the hosts have reached the states that the saved plan would bring about.
func Check(p, saved engine.Plan, desired map[string]engine.Desired, sensitive []string) error {
	clean := report.HideSensitive(p, sensitive)
	if p.HasWork() {
		if err := approval.CheckSame(clean, saved); err != nil {
			return err
		}
		return checkSecrets(p, saved, sensitive)
	}
	if err := approval.CheckReached(clean, saved, engine.DigestAims(saved.Hosts, desired)); err != nil {
		return err
	}
	for name, value := range p.Settings { // without the steps of hosts there is no seal to compare
		if len(saved.Hosts) > 0 && strings.HasPrefix(name, "play ") && clean.Settings[name] != value {
			return errors.New("a task has a secret, which may have changed since the plan was saved\nplan again")
		}
	}
	return nil
}

// checkSecrets returns an error unless a plan has the same secrets as a saved
// plan.
func checkSecrets(p, saved engine.Plan, sensitive []string) error {
	secrets := secretsOf(p, sensitive)
	if len(secrets) == 0 && saved.Secrets == nil {
		return nil
	}
	if len(secrets) > 0 && saved.Secrets != nil {
		salt, err1 := hex.DecodeString(saved.Secrets.Salt)
		digest, err2 := hex.DecodeString(saved.Secrets.Digest)
		if err1 == nil && err2 == nil && len(salt) == saltLength && hmac.Equal(digest, digestOf(secrets, salt)) {
			return nil
		}
	}
	return errors.New("a secret in a command, a gate or a task has changed since the plan was saved\nplan again")
}

func secretsOf(p engine.Plan, sensitive []string) []string {
	var secrets []string
	for _, text := range approval.ComparedTexts(p) {
		if report.HideSensitive(text, sensitive) != text {
			secrets = append(secrets, text)
		}
	}
	return secrets
}

// digestOf is slow to compute, so that guessing a short secret takes long.
func digestOf(secrets []string, salt []byte) []byte {
	var all []byte
	for _, s := range secrets {
		all = binary.BigEndian.AppendUint64(all, uint64(len(s)))
		all = append(all, s...)
	}
	return argon2.IDKey(all, salt, sealPasses, sealMemory, 1, sealLength)
}
