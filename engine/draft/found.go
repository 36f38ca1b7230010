package draft

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/inventory"
	"holdfast/engine/textutil"
)

// Found has the answers of a host.
type Found struct {
	Unreachable string // why the host did not answer; "": it did
	SameAs      string // host that is the same machine, so this one is left out
	OS          OS     // that it runs; the zero value: not known
	OSProblem   string // why the OS is not known
	Cluster     string // etcd cluster of which it is a member
	EtcdProblem string // why the cluster of its etcd is not known
	Node        string // name of the Kubernetes node that its kubelet registers
}

// OS is an OS that hosts run, pinned by its digest.
type OS struct {
	Driver, Remote, Ref, Commit, Image string

	Version string // for people
	Remark  string // part that an inventory cannot have, as a comment
}

// blockKey is equal for hosts that may share a hosts block.
func (f Found) blockKey() string {
	return strings.Join([]string{f.Unreachable, f.Cluster, f.EtcdProblem}, "\x00")
}

// FindOS returns the OS that a host has booted, from facts that were gathered for a driver. The text
// is the reason why it is not known.
func FindOS(driver string, f engine.Facts) (OS, string) {
	booted := f.Booted()
	switch {
	case f.Tool == "":
		return OS{}, "it has no " + driver
	case booted == nil && f.OSProblem != "":
		return OS{}, f.OSProblem
	case booted == nil:
		return OS{}, driver + " reports no booted deployment"
	}
	o := OS{Driver: driver, Version: hostText(booted.Version)}
	if driver != "ostree" && strings.HasPrefix(booted.Digest, "sha256:") {
		o.Image = imageName(booted.Origin) + "@" + booted.Digest
		if !inventory.Pinned(o.Image) {
			o.Image, o.Remark = "", fmt.Sprintf("no image name can be made of the origin %q; write image = \"NAME@%s\"", hostText(booted.Origin), hostText(booted.Digest))
		}
		return o, ""
	}
	if driver == "bootc" {
		o.Remark = "its OS is not an image; write image = \"NAME@sha256:…\" to move it to one"
		return o, ""
	}
	if !inventory.IsCommit(booted.Digest) {
		o.Remark = fmt.Sprintf("its OS has the digest %q, which no inventory can have", hostText(booted.Digest))
		return o, ""
	}
	if remote, ref, ok := strings.Cut(booted.Origin, ":"); ok && remote != "" && ref != "" && hostText(booted.Origin) == booted.Origin {
		o.Remote, o.Ref = remote, ref
	}
	if o.Ref == "" && driver != "ostree" {
		o.Remark = fmt.Sprintf("its OS %s follows no ref of a remote", engine.ShortDigest(booted.Digest))
		return o, ""
	}
	o.Commit = booted.Digest
	return o, ""
}

// imageName returns the name of an image in a registry, without tag and digest. The origin has the
// form of bootc, NAME:TAG, or of rpm-ostree, with a transport before. It returns "" for images from
// elsewhere.
func imageName(origin string) string {
	name := origin
	if scheme, rest, _ := strings.Cut(origin, ":"); strings.HasPrefix(scheme, "ostree-") {
		if strings.HasPrefix(scheme, "ostree-remote-") { // the name of the remote comes first
			_, rest, _ = strings.Cut(rest, ":")
		}
		name = rest
		if !strings.HasSuffix(scheme, "-registry") { // the transport comes first
			name = strings.TrimPrefix(strings.TrimPrefix(rest, "registry:"), "docker://")
		}
	}
	name, _, _ = strings.Cut(strings.TrimPrefix(name, "docker://"), "@")
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name = name[:i]
	}
	if hostText(name) != name || strings.HasPrefix(name, "/") {
		return ""
	}
	return name
}

// splitByOS makes a pool of each OS. Hosts that did not answer stay in the pool with the most hosts.
func splitByOS(pools []*pool) []*pool {
	taken := map[string]bool{}
	for _, p := range pools {
		taken[p.name] = true
	}
	var out []*pool
	for _, p := range pools {
		var groups textutil.Groups[osKey, Host]
		var silent []Host
		for _, h := range p.hosts {
			if h.found.Unreachable != "" {
				silent = append(silent, h)
				continue
			}
			groups.Add(osKey{h.found.OS, h.found.OSProblem}, h)
		}
		var parts []*pool
		for key, hosts := range groups.All() {
			parts = append(parts, &pool{name: p.name, group: p.group, hosts: hosts, os: key.os, osProblem: key.problem})
		}
		if len(parts) == 0 {
			parts = []*pool{{name: p.name, group: p.group, osProblem: "no host answered"}}
		}
		if len(parts) > 1 {
			namePools(parts, taken)
		}
		slices.SortStableFunc(parts, func(a, b *pool) int { return len(b.hosts) - len(a.hosts) })
		parts[0].hosts = append(parts[0].hosts, silent...)
		out = append(out, parts...)
	}
	return out
}

type osKey struct {
	os      OS
	problem string
}

// namePools tells the pools of a group apart by their drivers, else by their versions, else by their
// digests.
func namePools(parts []*pool, taken map[string]bool) {
	for _, label := range []func(OS) string{
		func(o OS) string { return o.Driver },
		func(o OS) string { return o.Version },
		func(o OS) string { return engine.ShortDigest(digestOf(o)) },
		func(o OS) string { return o.Driver + "-" + engine.ShortDigest(digestOf(o)) },
	} {
		names := make([]string, len(parts))
		unique := map[string]bool{}
		for i, p := range parts {
			names[i] = p.name + "-" + validPoolName(label(p.os))
			if p.osProblem != "" {
				names[i] = p.name + "-unknown"
			}
			if !inventory.IsName(names[i]) || strings.HasSuffix(names[i], "-") || taken[names[i]] {
				continue
			}
			unique[names[i]] = true
		}
		if len(unique) < len(parts) {
			continue
		}
		for i, p := range parts {
			p.name, taken[names[i]] = names[i], true
		}
		return
	}
	for i, p := range parts {
		for n := i + 1; taken[p.name] || i > 0 && p.name == parts[0].name; n++ {
			p.name = fmt.Sprintf("%s-%d", validPoolName(p.group), n)
		}
		taken[p.name] = true
	}
}

// dropSameMachines leaves hosts out whose machine answered under the name of another host.
func (m *maker) dropSameMachines(hosts []Host) []Host {
	return slices.DeleteFunc(hosts, func(h Host) bool {
		if h.found.SameAs != "" {
			m.addRemark(h.At, "host %s is left out: it is the same machine as %s", h.Name, h.found.SameAs)
		}
		return h.found.SameAs != ""
	})
}

func digestOf(o OS) string { return engine.OS{Commit: o.Commit, Image: o.Image}.Digest() }

func countAnswers(hosts []Host) int {
	n := 0
	for _, h := range hosts {
		if h.found.Unreachable == "" {
			n++
		}
	}
	return n
}

// remarkFound names everything that the hosts did not tell.
func (m *maker) remarkFound(pools []*pool, clusters []FoundCluster) {
	for _, p := range pools {
		for _, h := range p.hosts {
			switch f := h.found; {
			case f.Unreachable != "":
				m.addRemark(h.At, "host %s is only a comment, because it did not answer: %s", h.Name, hostText(f.Unreachable))
			case f.OSProblem != "":
				m.addRemark(h.At, "the OS of host %s: %s", h.Name, hostText(f.OSProblem))
			case f.OS.Remark != "":
				m.addRemark(h.At, "the OS of host %s: %s", h.Name, f.OS.Remark)
			}
			if h.found.EtcdProblem != "" {
				m.addRemark(h.At, "the etcd of host %s: %s", h.Name, hostText(h.found.EtcdProblem))
			}
		}
	}
	for _, c := range clusters {
		if len(c.Absent) > 0 {
			m.addRemark("etcd cluster "+c.Name, "these members are on no host that answered: %s", strings.Join(c.Absent, ", "))
		}
	}
}
