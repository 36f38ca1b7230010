package setting

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// Found has the settings of etcd that a probe has found on a host.
type Found struct {
	Values  Values // of the file that holdfast has written and the unit reads
	Unread  bool   // a run was cut short before it restarted etcd with them
	User    string // as which the unit runs; "": root
	OwnUser string // that holdfast has set for the unit; "": none

	Survives bool // the unit keeps running during a soft reboot
}

// Judgement says how the settings of a member differ from those of the inventory.
type Judgement struct {
	Change string // differences that a restart with other settings removes; "": none
	Clash  string // why no member may have the wanted settings now; "": they may
	Fixed  string // differences that only another member removes; "": none
}

// Compare compares the wanted settings with those of the etcd that runs on a host. database is the size of its database in
// bytes.
func (w Wanted) Compare(f Found, database int64) Judgement {
	var j Judgement
	placed, changes := w.On(f), []string(nil)
	for _, name := range sortedNames(placed.Values, f.Values) {
		if from, to := f.Values[name], placed.Values[name]; from != to {
			changes = append(changes, describeChange(name, from, to))
		}
	}
	if w.Survives != f.Survives {
		changes = append([]string{fmt.Sprintf("survive_soft_reboots: %t → %t", f.Survives, w.Survives)}, changes...)
	}
	if more := len(changes) - mostChanges; more > 0 {
		changes = append(changes[:mostChanges], fmt.Sprintf("and %d more", more))
	}
	j.Change = strings.Join(changes, "; ")
	if j.Change == "" && f.Unread {
		j.Change = "a run that ended early has written its settings, and not restarted it"
	}
	if j.Change != "" {
		j.Clash = cmp.Or(w.clashOfTimes(f.Values), w.clashOfQuota(f.Values, database))
	}
	var fixed []string
	if from, to := cmp.Or(f.User, "root"), w.User; to != "" && from != to || to == "" && f.OwnUser != "" {
		fixed = append(fixed, w.prefixPosition("user")+describeChange("user", from, to))
	}
	if from, to := f.Values[walDir], w.Values[walDir]; from != to {
		fixed = append(fixed, w.prefixPosition(walDir)+describeChange(walDir, from, to))
	}
	j.Fixed = strings.Join(fixed, "; ")
	return j
}

// On returns the wanted settings, but with those of the host that no member can be given.
func (w Wanted) On(f Found) Wanted {
	placed := w.WithWAL(f.Values[walDir])
	placed.User = f.OwnUser
	if w.User == cmp.Or(f.User, "root") {
		placed.User = w.User
	}
	return placed
}

// WithWAL returns the settings with another folder of the write-ahead log, or "" for the data directory.
func (w Wanted) WithWAL(folder string) Wanted {
	w.Values = maps.Clone(w.Values)
	delete(w.Values, walDir)
	if folder != "" {
		w.Values[walDir] = folder
	}
	return w
}

// WAL returns the folder of the write-ahead log, or "" if it is in the data directory.
func (w Wanted) WAL() string { return w.Values[walDir] }

func sortedNames(a, b Values) []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(names)
	return slices.Compact(names)
}

// Limits of the text of a change, because a host can print anything: the number of settings, and the bytes of each part.
const (
	mostChanges = 20
	mostBytes   = 200
)

func describeChange(name, from, to string) string {
	text := func(s string) string { return textutil.Printable(textutil.Secrets{}.KeepTail(s, mostBytes)) }
	return fmt.Sprintf("%s: %s → %s", text(name), cmp.Or(text(from), "not set"), cmp.Or(text(to), "not set"))
}

// prefixPosition returns the position of a setting in the inventory, or the position of its block, for the beginning of a sentence.
func (w Wanted) prefixPosition(name string) string {
	if at := cmp.Or(w.positions[name], w.positions["settings"]); at != "" {
		return at + ": "
	}
	return ""
}

// clashOfTimes returns why members with the old and with the new times would not work together: a leader must send two heartbeats
// before any member starts an election.
func (w Wanted) clashOfTimes(old Values) string {
	const defaultHeartbeat, defaultElection = 100, 1000 // of etcd, in milliseconds
	for _, pair := range []struct{ beats, waits Values }{{w.Values, old}, {old, w.Values}} {
		beat, wait := pair.beats.readNumber(heartbeat, defaultHeartbeat), pair.waits.readNumber(election, defaultElection)
		if 2*beat > wait {
			return fmt.Sprintf("%smembers with heartbeat_interval %d ms and with election_timeout %d ms would run side by side during the change, and start elections; "+
				"change them in two runs, a longer election_timeout first and a shorter one last", w.prefixPosition(election), beat, wait)
		}
	}
	return ""
}

func (w Wanted) clashOfQuota(old Values, database int64) string {
	const defaultQuota = 2 << 30 // of etcd
	limit := w.Values.readNumber(quota, defaultQuota)
	if limit > database || w.Values[quota] == old[quota] {
		return ""
	}
	return fmt.Sprintf("%sits database has %d bytes, and with quota_backend_bytes %d etcd would accept no more writes; "+
		"set more, or compact and defragment it first", w.prefixPosition(quota), database, limit)
}

func (v Values) readNumber(name string, fallback int64) int64 {
	if n, err := strconv.ParseInt(v[name], 10, 64); err == nil {
		return n
	}
	return fallback
}

// Dropin returns the drop-in with which the unit reads the settings from a file, or "" if there are none.
func (w Wanted) Dropin(file string) string {
	if len(w.Values) == 0 && w.User == "" && !w.Survives {
		return ""
	}
	text, folder := "# written by holdfast etcd members\n", w.WAL()
	if folder != "" || w.Survives {
		text += "[Unit]\n"
	}
	if folder != "" { // on a disk that is not mounted, etcd would begin an empty log
		text += "RequiresMountsFor=" + folder + "\n"
	}
	if w.Survives {
		text += engine.SurvivalUnitLines
	}
	text += "[Service]\nEnvironmentFile=" + file + "\n"
	if w.Survives {
		text += engine.SurvivalServiceLines
	}
	if w.User != "" {
		text += "User=" + w.User + "\n"
	}
	return text
}

// NewFound returns the settings of a host without a member: none.
func NewFound() Found { return Found{Values: Values{}} }

// ReadLine reads a line of a probe, and reports whether it is about settings.
func (f *Found) ReadLine(word, rest string) bool {
	switch word {
	case "setting":
		f.Values.AddLine(rest)
	case "unread":
		f.Unread = true
	case "user":
		f.User = rest
	case "ownuser":
		f.OwnUser = rest
	case "survives":
		f.Survives = true
	default:
		return false
	}
	return true
}
