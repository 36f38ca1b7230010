package etcd

import (
	"fmt"
	"strings"

	"holdfast/engine"
)

// problems is everything about the cluster as a whole that keeps it from being
// understood or from working.
func (v view) problems(name string) []string {
	if v.best < 0 {
		return []string{v.silence()}
	}
	problems := v.strangeClusters()
	if v.list == nil {
		return append(problems, "no member gives the member list: "+oneLine(v.answers[v.best].listErr))
	}
	problems = append(problems, v.twins()...)
	problems = append(problems, v.outsiders(name)...)
	problems = append(problems, v.missing(name)...)
	if v.leader == 0 {
		problems = append(problems, fmt.Sprintf("no leader: %d of %d voters answer, the quorum is %d",
			v.speaking(), v.voters(), engine.QuorumOf(v.voters())))
	}
	return problems
}

// silence says that nobody answered, and each host's reason.
func (v view) silence() string {
	if len(v.answers) == 0 {
		return "no host of the inventory is in it: set etcd_cluster on its members' hosts"
	}
	reasons := make([]string, len(v.answers))
	for i, a := range v.answers {
		reasons[i] = a.host + ": " + oneLine(a.err)
	}
	return "no member answers: " + strings.Join(reasons, "; ")
}

// strangeClusters names the hosts that answer for another cluster than most.
func (v view) strangeClusters() []string {
	var others []string
	for _, a := range v.answers {
		if a.err == nil && !v.speaks(a) {
			others = append(others, fmt.Sprintf("%s is in %s", a.host, hexID(a.cluster())))
		}
	}
	if len(others) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("its hosts are in different etcd clusters: most are in %s, but %s; give those an "+
		"etcd_cluster of their own, or empty their data directory and add them as members again",
		hexID(v.cluster), strings.Join(others, ", "))}
}

// twins names hosts that answer as the same member.
func (v view) twins() []string {
	var problems []string
	for i, a := range v.answers {
		if v.speaks(a) && v.said[a.id()] != i {
			problems = append(problems, fmt.Sprintf("hosts %s and %s both answer as member %s: check their addresses",
				v.answers[v.said[a.id()]].host, a.host, v.nameOf(a.id())))
		}
	}
	return problems
}

// outsiders names members that are on no host of the inventory.
func (v view) outsiders(name string) []string {
	var problems []string
	for _, m := range v.list {
		if v.hosts[m.ID] == "" {
			problems = append(problems, fmt.Sprintf("member %s (%s) is on no host of the inventory: add its host with "+
				"etcd_cluster = %q, or start etcd there, or remove it: etcdctl member remove %s",
				v.nameOf(m.ID), where(m), name, hexID(m.ID)))
		}
	}
	return problems
}

// missing names hosts that the inventory puts into the cluster and the
// cluster's member list does not.
func (v view) missing(name string) []string {
	placed := map[string]bool{}
	for _, m := range v.list {
		placed[v.hosts[m.ID]] = true
	}
	var problems []string
	for _, a := range v.answers {
		if placed[a.host] || a.err == nil && !v.speaks(a) {
			continue // the latter is said by strangeClusters
		}
		why := "etcd there does not answer: "
		switch {
		case a.err != nil:
			why += oneLine(a.err)
		case v.answers[v.said[a.id()]].host != a.host:
			continue // said by twins
		default:
			why = fmt.Sprintf("etcd there says it is member %s, which was removed", hexID(a.id()))
		}
		problems = append(problems, fmt.Sprintf("host %s has etcd_cluster = %q but is not in the cluster's member list (%s): "+
			"add it to the cluster, or take etcd_cluster off the host", a.host, name, why))
	}
	return problems
}

func (v view) voters() int {
	n := 0
	for _, m := range v.list {
		if !m.IsLearner {
			n++
		}
	}
	return n
}

func (v view) speaking() int {
	n := 0
	for _, m := range v.list {
		if _, ok := v.said[m.ID]; ok && !m.IsLearner {
			n++
		}
	}
	return n
}
