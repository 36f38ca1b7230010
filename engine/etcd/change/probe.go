package change

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/restore"
	"holdfast/engine/etcd/setting"
)

// probeScript prints the state of the host, one word a line: data, running, "record TEXT", "wal HEX", "clock SECONDS",
// "setting NAME=VALUE" and "user NAME" (package setting), "restore PHASE SOURCE" with "newwal HEX", and a line "replaced …" for each line of replacedPath.
func probeScript(m engine.ManagedMembers) Script {
	return freeScript(m, body{ProbeHost, nil, probeText})
}

// hostState is the state that a probe found on a host.
type hostState struct {
	clock  time.Time
	record membership.Record

	running, data bool
	dataOf        string // ID of the member; "": not known
	dataCluster   string

	phase      restore.Phase
	of         string // identity of the source of the restore
	newCluster string // ID of the cluster that the restore has built

	replaced replacedClusters
	settings setting.Found
}

func readProbe(output string) hostState {
	s := hostState{settings: setting.NewFound()}
	for line := range strings.Lines(output) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "clock":
			seconds, _ := strconv.ParseInt(rest, 10, 64) // 0 is no time of a host
			s.clock = time.Unix(seconds, 0)
		case "running":
			s.running = true
		case "data":
			s.data = true
		case "record":
			s.record = membership.Record(rest)
		case "wal":
			begin, _ := hex.DecodeString(rest) // of no member if it is not hexadecimal
			s.dataOf, s.dataCluster = readWAL(begin)
		case "newwal":
			begin, _ := hex.DecodeString(rest)
			_, s.newCluster = readWAL(begin)
		case "restore":
			phase, of, _ := strings.Cut(rest, " ")
			s.phase, s.of = restore.Phase(phase), of
		case "replaced":
			s.replaced.addLine(rest)
		default:
			s.settings.ReadLine(word, rest)
		}
	}
	if s.phase == restore.Placed {
		s.newCluster = s.dataCluster
	}
	return s
}

// replacedClusters has the clusters that restores have replaced, as recorded on the hosts. A host that was unreachable during
// a restore may have data of any of them. So all its data count as replaced, unless they are of the new cluster.
type replacedClusters struct {
	clusters []string
	away     []awayHost
}

type awayHost struct{ name, newCluster string }

// maxReplaced limits the lines that a host records.
const maxReplaced = 200

func (r *replacedClusters) addLine(line string) {
	words := strings.Fields(line)
	switch {
	case len(r.clusters)+len(r.away) >= maxReplaced:
	case len(words) == 2 && words[0] == "cluster" && !slices.Contains(r.clusters, words[1]):
		r.clusters = append(r.clusters, words[1])
	case len(words) == 3 && words[0] == "host" && !slices.Contains(r.away, awayHost{words[1], words[2]}):
		r.away = append(r.away, awayHost{words[1], words[2]})
	}
}

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
