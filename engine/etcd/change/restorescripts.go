package change

import (
	"strconv"
	"strings"

	"holdfast/engine"
	"holdfast/engine/etcd/membership"
)

// revisionBump is added to the revision. No cluster has so many writes between a snapshot and its loss. So clients that watch
// notice that their revisions are gone, and read everything again.
const revisionBump = 1_000_000_000

// toolsScript checks that the host can restore a database of that size.
func toolsScript(m engine.ManagedMembers, size int64) Script {
	return freeScript(m, body{CheckTools, [][2]string{{"needed", inDecimal(2*size>>10 + 1<<20)}}, toolsText})
}

func inDecimal(n int64) string { return strconv.FormatInt(n, 10) }

// openRoomScript records the restore on the host, stops etcd, and makes the folder of the restore. It removes the files of an
// earlier restore.
func openRoomScript(owner engine.HoldOwner, m engine.ManagedMembers) Script {
	return heldScript(owner, m, "prepare a restore of etcd", body{OpenRoom, [][2]string{{"newrecord", string(membership.Restoring)}}, openRoomText})
}

// receiveScript takes a snapshot from standard input.
func receiveScript(owner engine.HoldOwner, m engine.ManagedMembers, size int64, sum string) Script {
	return heldScript(owner, m, "receive a snapshot of etcd", body{ReceiveSnapshot, [][2]string{{"wantsize", inDecimal(size)}, {"wantsum", sum}}, receiveText})
}

// copyScript copies the database of the stopped etcd.
func copyScript(owner engine.HoldOwner, m engine.ManagedMembers) Script {
	return heldScript(owner, m, "copy the database of etcd", body{CopyDatabase, nil, copyText})
}

// newData describes the data directory of a new cluster of one voter.
type newData struct {
	settings settingsText
	copied   bool  // from a data directory: the database has no hash
	bump     int64 // is added to the revision
}

func buildScript(owner engine.HoldOwner, m engine.ManagedMembers, d newData) Script {
	s := d.settings
	return heldScript(owner, m, "restore etcd", body{BuildData, [][2]string{
		{"member", s.name},
		{"peerurl", s.peerURL},
		{"cluster", s.cluster},
		{"token", s.token},
		{"bump", inDecimal(d.bump)},
		{"copied", yesIf(d.copied)},
	}, buildText})
}

func yesIf(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

// completeScript records that the new data are complete and checked.
func completeScript(owner engine.HoldOwner, m engine.ManagedMembers, identity string) Script {
	return heldScript(owner, m, "restore etcd", body{CompleteData, [][2]string{{"identity", identity}}, completeText})
}

func noteScript(owner engine.HoldOwner, m engine.ManagedMembers, r replacedClusters) Script {
	return heldScript(owner, m, "note a restore of etcd", body{NoteReplaced, noteVariables(r), noteText})
}

func noteVariables(r replacedClusters) [][2]string {
	return [][2]string{{"newreplaced", strings.TrimSuffix(r.String(), "\n")}}
}

// replaceScript replaces the old data with the new data. It can be repeated at any point.
func replaceScript(owner engine.HoldOwner, m engine.ManagedMembers, r replacedClusters) Script {
	return heldScript(owner, m, "replace the data of etcd", body{ReplaceData, noteVariables(r), replaceText + noteText})
}

// readScript prints the size and the time of a database, and then a part of it, in base64. It reads the database of the
// data directory, or the one that a restore has built.
func readScript(m engine.ManagedMembers, built bool, offset, length int64) Script {
	return freeScript(m, body{ReadDatabase, [][2]string{{"built", yesIf(built)}, {"offset", inDecimal(offset)}, {"length", inDecimal(length)}}, readText})
}
