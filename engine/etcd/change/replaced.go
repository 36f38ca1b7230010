package change

import (
	"context"
	"slices"
	"strings"
)

// replacedClusters has the clusters that restores have replaced, as recorded on the hosts. A host that was unreachable during
// a restore may have data of any of them. So all its data count as replaced, unless they are of the new cluster.
type replacedClusters struct {
	clusters []string
	away     []awayHost
	lineage  lineage
	unknown  string // a line that this version does not know; "": none
}

type awayHost struct{ name, newCluster string }

// maxReplaced limits the lines that a host records.
const maxReplaced = 200

func (r *replacedClusters) addLine(line string) {
	words := strings.Fields(line)
	switch {
	case len(words) == 0, r.lineage.addWords(words):
	case len(words) == 2 && words[0] == "cluster":
		if r.hasRoom() && !slices.Contains(r.clusters, words[1]) {
			r.clusters = append(r.clusters, words[1])
		}
	case len(words) == 3 && words[0] == "host":
		if away := (awayHost{words[1], words[2]}); r.hasRoom() && !slices.Contains(r.away, away) {
			r.away = append(r.away, away)
		}
	default:
		r.unknown = line
	}
}

func (r *replacedClusters) hasRoom() bool { return len(r.clusters)+len(r.away) < maxReplaced }

func (r *replacedClusters) mergeLines(other replacedClusters) {
	for line := range strings.Lines(other.String()) {
		r.addLine(line)
	}
}

// String returns the lines that a host records.
func (r replacedClusters) String() string {
	var b strings.Builder
	for _, c := range r.clusters {
		b.WriteString("cluster " + c + "\n")
	}
	for _, a := range r.away {
		b.WriteString("host " + a.name + " " + a.newCluster + "\n")
	}
	b.WriteString(r.lineage.String())
	return b.String()
}

func (r replacedClusters) hasCluster(cluster string) bool {
	return cluster != "" && slices.Contains(r.clusters, cluster)
}

// hasData reports whether the data of a host are of a replaced cluster. The absence of a host during a restore counts until
// another restore replaces the cluster of the first.
func (r replacedClusters) hasData(host, cluster string) bool {
	return r.hasCluster(cluster) || cluster != "" && slices.ContainsFunc(r.away, func(a awayHost) bool {
		return a.name == host && a.newCluster != cluster && !r.hasCluster(a.newCluster)
	})
}

// endAbsences notes that the clusters of earlier restores are replaced by the cluster to create, as a further restore does. Otherwise the
// data of a host that was absent during a restore would count as replaced for ever, also those of this cluster.
func (a actions) endAbsences(ctx context.Context, host string) error {
	if len(a.replaced.away) == 0 {
		return nil
	}
	noted := replacedClusters{}
	noted.mergeLines(a.replaced)
	for _, absent := range a.replaced.away {
		noted.addLine("cluster " + absent.newCluster)
	}
	return a.runScript(ctx, host, noteScript(a.Owner, *a.Cluster.Managed, noted))
}
