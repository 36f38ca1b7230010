package engine

import "encoding/json"

// HoldLookScript prints the host's hold, and exits with NoHold if there is none.
// It is what is left of a probe where nothing but that is to be known.
const HoldLookScript = "export LC_ALL=C\n[ -e " + HoldPath + " ] || [ -L " + HoldPath + " ] || exit 3\nhead -c 65536 " + HoldPath + "\n"

// NoHold is the exit status of HoldLookScript where there is no hold.
const NoHold = 3

// ReadHoldLook gives the facts that a HoldLookScript has found out about a host:
// its hold, and nothing else. Whatever is there but is no hold is a problem.
func ReadHoldLook(host, stdout string, code int) Facts {
	f := Facts{Host: host}
	var h Hold
	switch {
	case code == NoHold:
	case code != 0:
		f.HoldProblem = HoldPath + " cannot be read"
	case json.Unmarshal([]byte(stdout), &h) != nil:
		f.HoldProblem = HoldPath + " is not a hold"
	default:
		f.Hold = &h
	}
	return f
}

// CheckHoldScript gives the script that asks whether the host is held by that
// run, before something is done to the host from elsewhere. It does nothing, and
// exits with ScriptHeld where it is not, having printed the hold there is.
func CheckHoldScript(run string) string {
	return "set -eu\nexport LC_ALL=C\n" + CheckHoldSnippet(run)
}
