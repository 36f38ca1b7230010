package hostscript

import "holdfast/engine"

// ShutDownScript returns the script that shuts the host down and switches it off, if it has the hold of owner. If not, the script
// prints the hold and exits with ScriptHeld. The script ends before the host shuts down.
func ShutDownScript(owner engine.HoldOwner) string {
	return "set -eu\nexport LC_ALL=C\n" + CheckHoldSnippet(owner).String() + shutDownScript
}
