package change

import (
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/restore"
	"holdfast/engine/etcd/setting"
	"holdfast/engine/textutil"
)

// probeScript prints the state of the host, one word a line: data, running, "record TEXT", "wal HEX", "clock SECONDS",
// "setting NAME=VALUE" and "user NAME" (package setting), "restore PHASE SOURCE" with "newwal HEX", "datadir PATH", "unmounted PATH UNIT", and a line "replaced …" for each line of replacedPath.
func probeScript(m engine.ManagedMembers) Script {
	return freeScript(m, body{ProbeHost, nil, probeText})
}

// hostState is the state that a probe found on a host.
type hostState struct {
	clock  time.Time
	record membership.Record

	running, data bool
	dataDir       string // data directory that the member was started with; "": not known
	unmounted     string // mount point of the data that is not mounted, with its unit; "": none is known
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
			seconds, _ := strconv.ParseInt(rest, 10, 64) // 0 is not a time of a host
			s.clock = time.Unix(seconds, 0)
		case "running":
			s.running = true
		case "data":
			s.data = true
		case "datadir":
			s.dataDir = textutil.Printable(textutil.FirstLine(rest))
		case "unmounted":
			s.unmounted = textutil.Printable(textutil.FirstLine(rest))
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
