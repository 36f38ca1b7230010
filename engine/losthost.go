package engine

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// LostHost has the last change of a host that an earlier run of a bastion changed, and that no run has seen updated or matching
// since.
type LostHost struct {
	Run string // ID of that run
	Aim string // aim of the change
}

// Aim identifies the state that a change brings about: the OS if the host boots another one, else the configuration. A change that
// has neither has no aim. The same change has the same aim in a later run.
func (d Desired) Aim(newOS bool) string {
	if newOS && d.OS != nil {
		return d.OS.Digest()
	}
	if d.Config == nil {
		return ""
	}
	text, _ := json.Marshal(d.Config) // configurations always marshal; their secrets are digests
	return fmt.Sprintf("configuration %x", sha256.Sum256(text))
}

// StillAsksFor reports whether the aim of an earlier change is a part of the desired state. If it is not, the failure of that
// change tells nothing about the next one.
func (d Desired) StillAsksFor(aim string) bool {
	return aim != "" && (aim == d.Aim(true) || aim == d.Aim(false))
}
