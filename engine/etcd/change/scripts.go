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
	placePath    = engine.StateDir + "/etcd-restore"         // end of the name of the folder in which a restore works
	replacedPath = engine.StateDir + "/etcd-replaced"        // clusters that a restore has replaced
)

func dropinPath(unit string) string {
	return hostscript.UnitDir + "/" + unit + ".d/" + hostscript.MemberDropin
}

// tuningPath returns the path of the drop-in that names tunedPath. Its settings take precedence over those of dropinPath.
func tuningPath(unit string) string {
	return hostscript.UnitDir + "/" + unit + ".d/" + hostscript.SettingsDropin
}

// wantedUser returns the account that the inventory wants etcd to run as; "": that of the unit.
func wantedUser(m engine.ManagedMembers) string {
	if m.Settings == nil {
		return ""
	}
	return m.Settings.User
}

// scriptHead returns the first lines of every script: variables, and functions that enter folders.
func scriptHead(m engine.ManagedMembers) string {
	dir, base := path.Split(m.DataDir)
	return "set -eu\numask 077\nexport LC_ALL=C\n" +
		"parent=" + hostscript.Quote(path.Clean(dir)) + "\nbase=" + hostscript.Quote(base) + "\nunit=" + hostscript.Quote(m.Unit) + "\n" +
		"record=" + recordPath + "\nsettings=" + settingsPath + "\ndropin=" + hostscript.Quote(dropinPath(m.Unit)) + "\n" +
		"user=" + hostscript.Quote(wantedUser(m)) + "\ntuned=" + tunedPath + "\nunread=" + unreadPath + "\ntuning=" + hostscript.Quote(tuningPath(m.Unit)) + "\n" +
		walVariables(m) + "state=" + engine.StateDir + "\nplace=" + placePath + "\nreplaced=" + replacedPath + "\n" +
		"root=\n" + hostscript.GroundScript + enterLibrary
}

// enterLibrary defines enterfolder, which enters a folder or ends the script. An account may own the folder or one above it, and
// swap it at any moment. After enterfolder, nobody can lead the script to another folder. With a second argument, that is the
// message if there is no folder.
const enterLibrary = `enterfolder() {
	code=0
	enter "$1" || code=$?
	case $code in
	0) ;;
	2)
		echo "the path $1 is a link" >&2
		exit 1
		;;
	*)
		echo "${2-$1 is not a folder that can be entered}" >&2
		exit 1
		;;
	esac
}
`

// enterParent enters the folder above the data directory.
const enterParent = `enterfolder "$parent"
`

func underHold(owner engine.HoldOwner, m engine.ManagedMembers, operation, body string) string {
	return scriptHead(m) + hostscript.CheckHoldSnippet(owner) + "claim " + hostscript.Quote(operation) + "\n" + body
}

func recordScript(owner engine.HoldOwner, m engine.ManagedMembers, r membership.Record) string {
	return underHold(owner, m, "record a change of etcd members", `printf '%s\n' `+hostscript.Quote(string(r))+` >"$record.new"
sync "$record.new"
mv -fT "$record.new" "$record"
sync "$state"
`)
}

// forgetScript ends a change. A host that has founded a cluster joins from then on: without its data, its etcd would found another.
func forgetScript(owner engine.HoldOwner, m engine.ManagedMembers) string {
	return underHold(owner, m, "end a change of etcd members", roomLibrary+clearRoom+`if grep -qxF ETCD_INITIAL_CLUSTER_STATE=new "$settings" 2>/dev/null; then
	sed 's/^ETCD_INITIAL_CLUSTER_STATE=new$/ETCD_INITIAL_CLUSTER_STATE=existing/' "$settings" >"$settings.new"
	sync "$settings.new"
	mv -fT "$settings.new" "$settings"
fi
rm -f "$record"
sync "$state"
`)
}

// startScript sets etcd up to join or to make a cluster, and starts it. It does not wait until etcd is ready, because etcd is
// ready only after it has joined.
func startScript(owner engine.HoldOwner, settings settingsText, wanted setting.Wanted) string {
	return underHold(owner, settings.managed, "start etcd", `printf '%s' `+hostscript.Quote(settings.String())+` >"$settings.new"
sync "$settings.new"
mv -fT "$settings.new" "$settings"
mkdir -p "${dropin%/*}"
chmod 0755 "${dropin%/*}"
printf '%s\n' '# written by holdfast etcd members' '[Service]' "EnvironmentFile=$settings" >"$dropin.new"
chmod 0644 "$dropin.new"
mv -fT "$dropin.new" "$dropin"
`+writeSettings(wanted)+`rm -f "$unread" "$tuned.old" "$tuning.old"
systemctl daemon-reload 9>&-
`+giveKeys(settings.managed)+`systemctl enable "$unit" 9>&-
systemctl reset-failed "$unit" 2>/dev/null 9>&- || :
systemctl restart --no-block "$unit" 9>&-
`)
}

// setAsideScript stops etcd and renames its data directory. The record goes last.
func setAsideScript(owner engine.HoldOwner, m engine.ManagedMembers) string {
	return underHold(owner, m, "set the data of etcd aside", setAsideBody)
}

const setAsideBody = `systemctl disable "$unit" 9>&- || :
systemctl stop "$unit" 9>&-
` + setWALAside + enterParent + renameAside + `rm -f "$dropin" "$settings" "$tuning" "$tuning.old" "$tuned" "$tuned.old" "$unread"
systemctl daemon-reload 9>&-
` + roomLibrary + clearRoom + `rm -f "$record"
sync "$state"
`

// renameAside renames $base in the current folder, $parent.
const renameAside = `if [ -e "./$base" ] || [ -L "./$base" ]; then
	aside=$base.removed-$(date -u +%Y%m%dT%H%M%SZ)-$$
	mv -nT "./$base" "./$aside" # some versions report no error if the new name exists
	if [ -e "./$base" ] || [ -L "./$base" ]; then
		echo "$parent/$base cannot be renamed to $aside" >&2
		exit 1
	fi
	sync .
	echo "$parent/$aside"
fi
`

// measureSyncs defines syncoften: it writes and syncs 200 times, or for 10 s, as etcd does with its WAL, and prints the
// seconds that each took, which dd tells.
const measureSyncs = `syncoften() {
	LC_ALL=C
	export LC_ALL
	until=$(($(date +%s) + 10)) n=0
	while [ "$n" -lt 200 ] && [ "$(date +%s)" -lt "$until" ]; do
		out=$(dd if=/dev/zero bs=2048 count=1 conv=fdatasync,notrunc 2>&1 >&3) || return 1
		out=${out##*copied, }
		echo "${out%% *}"
		n=$((n + 1))
	done
}
`

// preflightScript checks the host, and prints the p99 of synced writes to the disk of the write-ahead log, in seconds, and their
// number.
func preflightScript(m engine.ManagedMembers) string {
	return scriptHead(m) + measureSyncs + `systemctl cat "$unit" >/dev/null 2>&1 || { echo "there is no unit $unit; install etcd" >&2; exit 1; }
[ -z "$user" ] || id "$user" >/dev/null 2>&1 || { echo "there is no account $user; make it, or set another user in the block settings" >&2; exit 1; }
` + checkFolders + `test=.holdfast-disk-test-$(od -An -v -N 16 -tx1 /dev/urandom | tr -d ' \n')
trap 'rm -f "./$test"' EXIT
trap 'exit 1' HUP INT TERM
set -C # the file is new, and nobody's link
times=$(syncoften 3>"./$test") || { echo "$parent cannot be written to" >&2; exit 1; }
printf '%s\n' "$times" | sort -g | awk '{ took[NR] = $1 } END { n = int((NR * 99 + 99) / 100); print "sync", took[n], NR }'
`
}

// settingsText returns the settings of etcd for its first start.
type settingsText struct {
	name, peerURL, cluster, state, token string

	managed engine.ManagedMembers
}

func (s settingsText) String() string {
	text := "ETCD_NAME=" + s.name + "\nETCD_DATA_DIR=" + s.managed.DataDir + "\nETCD_INITIAL_ADVERTISE_PEER_URLS=" + s.peerURL +
		"\nETCD_INITIAL_CLUSTER=" + s.cluster + "\nETCD_INITIAL_CLUSTER_STATE=" + s.state + "\n"
	text += certificateSettings(s.managed.CA)
	if tuned := s.managed.Settings; tuned != nil && tuned.DeriveURLs {
		text += "ETCD_LISTEN_PEER_URLS=" + s.peerURL + "\n" // members never get another peer URL
	}
	if s.token != "" {
		text += "ETCD_INITIAL_CLUSTER_TOKEN=" + s.token + "\n"
	}
	return text
}
