package hostconfig

import (
	_ "embed" // embeds scripts
	"strings"

	"holdfast/engine"
	"holdfast/engine/hostscript"
)

// These scripts write a configuration, carry out actions and write the record.
var (
	//go:embed sh/room.sh
	roomScript string
	//go:embed sh/tx.sh
	txScript string
	//go:embed sh/checkedits.sh
	checkEditsScript string
	//go:embed sh/prepare.sh
	prepareScript string
	//go:embed sh/replace.sh
	replaceScript string
	//go:embed sh/accounts.sh
	accountsScript string
	//go:embed sh/units.sh
	unitsScript string
	//go:embed sh/wayin.sh
	wayInScript string
	//go:embed sh/probation.sh
	probationScript string
	//go:embed sh/confirm.sh
	confirmScript string
	//go:embed sh/unprove.sh
	unproveScript string
	//go:embed sh/undo.sh
	undoScript string
	//go:embed sh/write.sh
	writeScript string
	//go:embed sh/keys.sh
	keysScript string
	//go:embed sh/act.sh
	actionScript string
	//go:embed sh/record.sh
	recordedScript string
)

// These are the texts of the scripts of steps.
var (
	writeFunctionsText = shareLibrary(hostscript.CheckBootScript(), checkEditsScript, prepareScript, replaceScript, accountsScript, unitsScript, wayInScript, probationScript, undoScript, actionScript, recordedScript)
	writeText          = engine.ShareText(writeScript)
	keysText           = engine.ShareText(keysScript)
	actionText         = engine.ShareText(actionScript)
	actText            = shareLibrary(actionScript, openWrite)
	closeText          = shareLibrary(actionScript, recordedScript, openWrite)
	recordText         = shareLibrary(recordedScript, openWrite, "complete_record\n")
	noteText           = shareLibrary(recordedScript, openWrite, "note_record\n")
	confirmText        = shareLibrary(confirmScript)
	unproveText        = shareLibrary(unproveScript)
)

// openWrite begins the scripts that follow a write.
const openWrite = "take_write_lock\nreceive_files\nclaim_host \"$doing\"\n"

// shareLibrary returns a text with the functions that all scripts of a write share.
func shareLibrary(texts ...string) *engine.SharedText {
	return engine.ShareText(pointScript + hostscript.GroundScript + roomScript + txScript + strings.Join(texts, ""))
}
