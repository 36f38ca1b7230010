package hostscript

// Exit statuses of scripts that steps run on hosts, from the range sysexits
// leaves to the application. Any other status is the failing command's own.
const (
	ScriptHeld         = 75 // somebody else holds the host; nothing was done
	ScriptChanged      = 76 // the host is not as planned; nothing was done
	ScriptNoSpace      = 77 // too little free space; nothing was done
	ScriptActionFailed = 78 // an action failed; the record has it
	ScriptCannot       = 79 // the host refused the change; nothing was changed
	ScriptHalfDone     = 80 // the script failed in the middle, and could not undo all of it
	ScriptOldProcess   = 81 // a service that survived a soft reboot runs from a deployment that would go; nothing was done
	ScriptBusy         = 82 // another script has the lock of the hold; nothing was done
	ScriptNoFile       = 83 // there is no such file
)

// IsHeldElsewhere reports whether a script did nothing because somebody else holds the host, or has the lock of its hold.
func IsHeldElsewhere(code int) bool { return code == ScriptHeld || code == ScriptBusy }
