package engine

import (
	"fmt"
	"maps"
	"slices"
)

// skew watches how far the versions of pools are apart.
type skew struct {
	limits  []skewLimit
	version map[string]map[string]int // by pool: how many hosts run each version
	runs    map[string]string         // version of each host
	target  map[string]string         // version of the OS of each host that is to be changed; "" if it is not known
	staged  map[string]bool           // it should be, as there is nothing left to stage
}

// skewLimit bounds how many minor versions the hosts of two pools may differ.
type skewLimit struct {
	pool, other string
	minors      int
}

func newSkew(in Input, x index, work []HostPlan) *skew {
	k := &skew{version: map[string]map[string]int{}, runs: map[string]string{}, target: map[string]string{}, staged: map[string]bool{}}
	for _, p := range in.Inventory.Pools {
		k.version[p.Name] = map[string]int{}
		if p.MaxSkew == nil {
			continue
		}
		for _, other := range x.before(p.Name) {
			k.limits = append(k.limits, skewLimit{p.Name, other, *p.MaxSkew})
		}
	}
	if len(k.limits) == 0 {
		return k
	}
	labels := map[string]string{}
	for _, h := range in.Inventory.Hosts {
		f := in.Facts[h.Name]
		for _, d := range f.Deployments {
			if d.Version != "" {
				labels[d.Digest] = d.Version
			}
		}
		if v := f.version(); v != "" {
			k.runs[h.Name] = v
			k.version[h.Pool][v]++
		}
	}
	for _, hp := range work {
		os := in.Desired[hp.Host].OS
		if os == nil || !bootsOther(hp.Roll, in.Facts[hp.Host]) {
			continue
		}
		k.target[hp.Host] = os.Version
		if os.Version == "" && x.pools[hp.Pool].VersionCommand == "" {
			k.target[hp.Host] = labels[os.Digest()]
		}
		k.staged[hp.Host] = len(hp.Stage) == 0
	}
	return k
}

// version is what counts for max_skew.
func (f Facts) version() string {
	if f.Version != "" {
		return f.Version
	}
	if b := f.Booted(); b != nil {
		return b.Version
	}
	return ""
}

// bootsOther reports whether a sequence boots an OS that the host does not run.
func bootsOther(roll []Step, f Facts) bool {
	for _, s := range roll {
		if b := s.Do.AwaitBoot; b != nil && b.Digest != "" {
			return f.Booted() == nil || f.Booted().Digest != b.Digest
		}
	}
	return false
}

// objects says why the host may not go to its version now, or "". The version
// of an OS that is not staged anywhere yet may not be known; once it is staged
// it has to be.
func (k *skew) objects(hp *HostPlan) string {
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
		for _, v := range slices.Sorted(maps.Keys(k.version[other])) {
			if k.version[other][v] == 0 {
				continue
			}
			if minors, ok := Skew(target, v); !ok || minors > l.minors {
				return fmt.Sprintf("it would run %s while hosts of pool %s run %s, and max_skew of pool %s is %d", target, other, v, l.pool, l.minors)
			}
		}
	}
	return ""
}

// settle takes the host to its version.
func (k *skew) settle(hp *HostPlan) {
	target := k.target[hp.Host]
	if target == "" {
		return
	}
	k.version[hp.Pool][k.runs[hp.Host]]--
	k.runs[hp.Host] = target
	k.version[hp.Pool][target]++
}

// unknown names a host of which the version that it goes to is not known yet.
func (k *skew) unknown() bool {
	for host, target := range k.target {
		if target == "" && !k.staged[host] {
			return true
		}
	}
	return false
}
