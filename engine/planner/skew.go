package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/textutil"
	"holdfast/engine/version"
)

// skew counts the versions of hosts, and finds changes that would move two
// pools too far apart.
type skew struct {
	limits           []skewLimit
	version          map[string]map[string]int // number of hosts with each version, by pool
	runs             map[string]string         // version of each host
	target           map[string]string         // version of the OS of each host that gets another OS; "": not known
	staged           map[string]bool           // hosts with nothing left to stage, whose version should be known
	noVersionPrinted map[string]string         // hosts of which no version_command or kubelet has told the version, and their pools
	kubelets         map[string]bool           // pools whose versions are those of kubelets
	unknownVersion   []string                  // other hosts whose version is unknown
}

// skewLimit bounds how many minor versions the hosts of two pools may differ.
type skewLimit struct {
	pool, other string
	minors      int
}

func newSkew(in Input, x index, work []engine.HostPlan) *skew {
	k := &skew{version: map[string]map[string]int{}, runs: map[string]string{}, target: map[string]string{}, staged: map[string]bool{}, noVersionPrinted: map[string]string{}, kubelets: map[string]bool{}}
	for _, p := range in.Inventory.Pools {
		k.version[p.Name] = map[string]int{}
		k.kubelets[p.Name] = p.VersionOf == engine.KubeletVersion
		if p.MaxSkew == nil {
			continue
		}
		for _, other := range x.predecessorsOf(p.Name) {
			k.limits = append(k.limits, skewLimit{p.Name, other, *p.MaxSkew})
		}
	}
	if len(k.limits) == 0 {
		return k
	}
	labels, said := map[string]string{}, map[string]string{}
	for _, h := range in.Inventory.Hosts {
		for _, d := range in.Facts[h.Name].Deployments {
			if d.Version != "" {
				labels[d.Digest] = d.Version
			}
		}
		if os := in.Desired[h.Name].OS; os != nil && os.Version != "" {
			said[os.Digest()] = os.Version
		}
	}
	for _, h := range in.Inventory.Hosts {
		k.countVersion(h, x.pools[h.Pool], in.Facts[h.Name], said)
	}
	for _, hp := range work {
		os := in.Desired[hp.Host].OS
		if os == nil || !bootsOther(hp.Sequence, in.Facts[hp.Host]) {
			continue
		}
		k.target[hp.Host] = os.Version
		if os.Version == "" && !x.pools[hp.Pool].RunsProgramVersion() {
			k.target[hp.Host] = labels[os.Digest()]
		}
		k.staged[hp.Host] = len(hp.Stage) == 0
	}
	return k
}

// countVersion counts the version of a host: the output of version_command or the version of its kubelet,
// else the version that the inventory has for its OS, else the label of the OS.
// A pool whose version is that of a program never uses the label.
func (k *skew) countVersion(h engine.Host, p engine.Pool, f engine.Facts, said map[string]string) {
	v := f.Version
	if b := f.Booted(); b != nil && v == "" {
		if v = said[b.Digest]; v == "" && !p.RunsProgramVersion() {
			v = b.Version
		}
	}
	limited := slices.ContainsFunc(k.limits, func(l skewLimit) bool { return l.pool == h.Pool || l.other == h.Pool })
	switch {
	case v != "":
		k.runs[h.Name] = v
		k.version[h.Pool][v]++
	case !f.Reached() || !limited:
	case p.RunsProgramVersion():
		k.noVersionPrinted[h.Name] = h.Pool
	default:
		k.unknownVersion = append(k.unknownVersion, h.Name)
	}
}

func (k *skew) listWarnings() (list []string) {
	if k.hasUnknownTarget() {
		list = append(list, "the version of an OS is not known before it is staged: max_skew is checked then")
	}
	if len(k.target) > 0 && len(k.unknownVersion) > 0 {
		list = append(list, fmt.Sprintf("max_skew does not count %s: the versions of their OS are not known; a version_command in their pool prints them", strings.Join(textutil.FoldNames(k.unknownVersion), ", ")))
	}
	return list
}

func bootsOther(roll []engine.Step, f engine.Facts) bool {
	for _, s := range roll {
		if b := s.Do.AwaitBoot; b != nil && b.Digest != "" {
			return f.Booted() == nil || f.Booted().Digest != b.Digest
		}
	}
	return false
}

// findBlocker returns "" if the host may change its version, which may be unknown until the OS is staged.
func (k *skew) findBlocker(hp *engine.HostPlan) string {
	target, changes := k.target[hp.Host]
	if !changes {
		return ""
	}
	for _, l := range k.limits {
		other := l.other
		if hp.Pool == l.other {
			other = l.pool
		} else if hp.Pool != l.pool {
			continue
		}
		if target == "" {
			if k.staged[hp.Host] {
				return fmt.Sprintf("the version of its OS is not known, and pool %s has max_skew; say it as version in the os block", l.pool)
			}
			continue
		}
		for _, host := range slices.Sorted(maps.Keys(k.noVersionPrinted)) {
			if k.noVersionPrinted[host] == other {
				if k.kubelets[other] {
					return fmt.Sprintf("the node of %s in pool %s reports no version of its kubelet, and pool %s has max_skew; repair its node, or take the host or version_of out of the inventory", host, other, l.pool)
				}
				return fmt.Sprintf("version_command of pool %s prints no version on %s, and pool %s has max_skew; repair the host or the command, or take either out of the inventory", other, host, l.pool)
			}
		}
		for _, v := range slices.Sorted(maps.Keys(k.version[other])) {
			if k.version[other][v] <= 0 {
				continue
			}
			if minors, ok := version.Skew(target, v); !ok || minors > l.minors {
				return fmt.Sprintf("it would run %s while hosts of pool %s run %s, and max_skew of pool %s is %d", target, other, v, l.pool, l.minors)
			}
		}
	}
	return ""
}

// moveToTarget counts the host with its new version. If that is not known yet, the host
// counts with no version, and the next plan, which knows it, decides.
func (k *skew) moveToTarget(hp *engine.HostPlan) {
	target, changes := k.target[hp.Host]
	if !changes {
		return
	}
	if was := k.runs[hp.Host]; was != "" {
		k.version[hp.Pool][was]--
	}
	delete(k.noVersionPrinted, hp.Host)
	delete(k.runs, hp.Host)
	if target != "" {
		k.runs[hp.Host] = target
		k.version[hp.Pool][target]++
	}
}

func (k *skew) hasUnknownTarget() bool {
	for host, target := range k.target {
		if target == "" && !k.staged[host] {
			return true
		}
	}
	return false
}
