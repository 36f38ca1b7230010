package engine

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"holdfast/engine/resource"
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

// DigestAims returns, for each host, a digest of its desired OS and configuration. Hosts can share a large configuration, which
// is read once.
func DigestAims(hosts []HostPlan, desired map[string]Desired) map[string]string {
	aims, configurations := make(map[string]string, len(hosts)), map[*resource.Config]string{}
	for _, hp := range hosts {
		d := desired[hp.Host]
		config, known := configurations[d.Config]
		if !known {
			config = d.Aim(false)
			configurations[d.Config] = config
		}
		os := ""
		if d.OS != nil {
			os = d.OS.Digest()
		}
		aims[hp.Host] = fmt.Sprintf("%x", sha256.Sum256([]byte(os+" "+config)))
	}
	return aims
}

// MayComeFrom reports whether a play may bring to other hosts the change after which a host was lost. Without a play, all hosts get all of their
// desired state.
func (l LostHost) MayComeFrom(play *Play, host string, d Desired) bool {
	if play == nil {
		return true
	}
	return play.HasTaskOn(host, FinalizeTask) || l.Aim != d.osAim() && play.HasTaskOn(host, ConfigTask) // both may bring a configuration
}

// IsSettledBy reports whether a play compares a host with the part of the desired state that the change had to bring about, so
// that the host is not lost any more if it matches or is updated. Without a play, hosts are compared with all of it.
func (l LostHost) IsSettledBy(play *Play, host string, d Desired) bool {
	if play == nil {
		return true
	}
	finalizes, configures := play.HasTaskOn(host, FinalizeTask), play.HasTaskOn(host, ConfigTask)
	switch l.Aim {
	case d.osAim():
		return finalizes
	case d.Aim(false):
		return configures
	default: // another desired state than today's
		return finalizes && configures
	}
}

func (d Desired) osAim() string {
	if d.OS == nil {
		return ""
	}
	return d.Aim(true)
}

// StillAsksFor reports whether the aim of an earlier change is a part of the desired state. If it is not, the failure of that
// change tells nothing about the next one.
func (d Desired) StillAsksFor(aim string) bool {
	return aim != "" && (aim == d.Aim(true) || aim == d.Aim(false))
}
