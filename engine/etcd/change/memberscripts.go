package change

import (
	"path"

	"holdfast/engine"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/setting"
	"holdfast/engine/hostscript"
)

// Files on a host. systemd reads settingsPath and tunedPath when it starts etcd; their settings take precedence over those of
// the unit.
const (
	recordPath   = engine.StateDir + "/etcd-member"
	settingsPath = engine.StateDir + "/etcd-member.env"
	tunedPath    = engine.StateDir + "/etcd-settings.env"    // settings of the inventory
	unreadPath   = engine.StateDir + "/etcd-settings.unread" // exists while etcd may not have read tunedPath
	placePath    = engine.StateDir + "/etcd-restore"         // has the end of the name of the folder in which a restore works
	replacedPath = engine.StateDir + "/etcd-replaced"        // clusters that a restore has replaced
)

func dropinPath(unit string) string {
	return hostscript.UnitDir + "/" + unit + ".d/" + hostscript.MemberDropin
}

// tuningPath returns the path of the drop-in that names tunedPath. Its settings take precedence over those of the drop-in at
// dropinPath.
func tuningPath(unit string) string {
	return hostscript.UnitDir + "/" + unit + ".d/" + hostscript.SettingsDropin
}

// wantedUser returns the account that the inventory wants etcd to run as; "": the account of the unit.
func wantedUser(m engine.ManagedMembers) string {
	if m.Settings == nil {
		return ""
	}
	return m.Settings.User
}

// body has the parts in which scripts differ: the purpose, the values of further variables, and the text after the checks.
type body struct {
	purpose   Purpose
	variables [][2]string
	text      string
}

// freeScript returns a script that needs no hold: the lines of scriptHead, and the text.
func freeScript(m engine.ManagedMembers, b body) Script {
	return Script{b.purpose, scriptHead(m, b.variables) + b.text}
}

// heldScript returns a script that does nothing unless the owner holds the host. It tells the host the operation.
func heldScript(owner engine.HoldOwner, m engine.ManagedMembers, operation string, b body) Script {
	return Script{b.purpose, scriptHead(m, b.variables) + hostscript.CheckHoldSnippet(owner).String() + "claim_host " + hostscript.Quote(operation) + "\n" + b.text}
}

// scriptHead returns the first lines of a script: variables, an empty line, and the functions that all scripts share.
func scriptHead(m engine.ManagedMembers, variables [][2]string) string {
	dir, base := path.Split(m.DataDir)
	return "set -eu\numask 077\nexport LC_ALL=C\n" + hostscript.Assign([][2]string{
		{"parent", path.Clean(dir)},
		{"base", base},
		{"unit", m.Unit},
		{"record", recordPath},
		{"settings", settingsPath},
		{"dropin", dropinPath(m.Unit)},
		{"user", wantedUser(m)},
		{"tuned", tunedPath},
		{"unread", unreadPath},
		{"tuning", tuningPath(m.Unit)},
		{"wal", wantedLog(m)},
		{"own", yesIf(m.Settings != nil && m.Settings.WALOnOwnDisk)},
		{"owndata", yesIf(m.Settings != nil && m.Settings.DataOnOwnDisk)},
		{"state", engine.StateDir},
		{"place", placePath},
		{"replaced", replacedPath},
	}) + hostscript.Assign(variables) + "root=\n\n" + hostscript.GroundScript + libScript
}

// wantedLog returns the folder of the write-ahead log that the inventory wants, or "" for the data directory.
func wantedLog(m engine.ManagedMembers) string {
	if m.Settings == nil {
		return ""
	}
	return m.Settings.WALDir
}

func recordScript(owner engine.HoldOwner, m engine.ManagedMembers, r membership.Record) Script {
	return heldScript(owner, m, "record a change of etcd members", body{RecordChange, [][2]string{{"newrecord", string(r)}}, recordText})
}

// forgetScript removes the record of a change, which ends the change on the host.
func forgetScript(owner engine.HoldOwner, m engine.ManagedMembers) Script {
	return heldScript(owner, m, "end a change of etcd members", body{EndChange, nil, forgetText})
}

// startScript sets etcd up to join or to make a cluster, and starts it.
func startScript(owner engine.HoldOwner, settings settingsText, wanted setting.Wanted) Script {
	variables := append(tunedVariables(wanted), [2]string{"newsettings", settings.String()})
	return heldScript(owner, settings.managed, "start etcd", body{StartEtcd, variables, putSettingsText + setupText + giveKeys(settings.managed) + startText})
}

// setAsideScript stops etcd and renames its data directory.
func setAsideScript(owner engine.HoldOwner, m engine.ManagedMembers) Script {
	return heldScript(owner, m, "set the data of etcd aside", body{SetDataAside, nil, setAsideText})
}

// preflightScript checks the host, and prints the p99 of synced writes to the disk of the write-ahead log, in seconds, and their
// number.
func preflightScript(m engine.ManagedMembers) Script {
	return freeScript(m, body{CheckNewHost, nil, preflightText})
}

// settingsText has the settings of etcd for its first start.
type settingsText struct {
	name, peerURL, cluster, state, token string

	managed engine.ManagedMembers
}

func (s settingsText) String() string {
	text := "ETCD_NAME=" + s.name + "\nETCD_DATA_DIR=" + s.managed.DataDir + "\nETCD_INITIAL_ADVERTISE_PEER_URLS=" + s.peerURL +
		"\nETCD_INITIAL_CLUSTER=" + s.cluster + "\nETCD_INITIAL_CLUSTER_STATE=" + s.state + "\n"
	text += certificateSettings(s.managed.CA)
	if tuned := s.managed.Settings; tuned != nil && tuned.DeriveURLs {
		text += "ETCD_LISTEN_PEER_URLS=" + s.peerURL + "\n" // the settings stay true, because members never get another peer URL
	}
	if s.token != "" {
		text += "ETCD_INITIAL_CLUSTER_TOKEN=" + s.token + "\n"
	}
	return text
}
