package engine

import "strings"

// Survival is the fate of the services of a host that run on during a soft reboot.
type Survival string

// The fates of services that run on. The last two do not stop an etcd member, not even for a moment.
const (
	StopsAtReboot Survival = ""           // no service runs on
	RestartsAfter Survival = "restarted"  // the services run on, and are restarted under quorum once the host is back
	KeepsOldOS    Survival = "keeps-os"   // the etcd member keeps running from the deployment before, because its cluster cannot spare it
	StaysAsItIs   Survival = "unaffected" // the services run on, and no change is about them
)

// SparesMember reports whether the etcd member of the host does not stop at all.
func (s Survival) SparesMember() bool { return s == KeepsOldOS || s == StaysAsItIs }

// Survivor is a service that runs on during a soft reboot of its host. Its process keeps the deployment in which it
// has started.
type Survivor struct {
	Unit       string `json:"unit"`                 // name of the service
	Survives   bool   `json:"survives,omitempty"`   // its process survives the next soft reboot
	Outdated   bool   `json:"outdated,omitempty"`   // its process runs from another deployment than the host
	Deployment string `json:"deployment,omitempty"` // deployment that it runs from, as the OS tool names it; "": not known
}

// OutdatedSurvivors returns the services that run from another deployment than the host.
func (f Facts) OutdatedSurvivors() []Survivor {
	var list []Survivor
	for _, s := range f.Survivors {
		if s.Outdated {
			list = append(list, s)
		}
	}
	return list
}

// OSOfSurvivor returns the OS that a service runs from, for people.
func (f Facts) OSOfSurvivor(s Survivor) string {
	digest, _, _ := strings.Cut(s.Deployment, ".")
	if digest == "" {
		return "an earlier deployment"
	}
	for _, d := range f.Deployments {
		if d.Digest == digest && d.Version != "" {
			return d.Version + " (" + ShortDigest(digest) + ")"
		}
	}
	return ShortDigest(digest)
}
