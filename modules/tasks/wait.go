package tasks

import (
	"fmt"

	"holdfast/engine"
	"holdfast/engine/hostscript"
)

func waitGate(name string, w engine.WaitForTask, limit engine.Duration) *engine.Gate {
	g := engine.Gate{Name: name, Timeout: limit}
	switch {
	case w.Port > 0:
		g.HostCommand = portScript(w.Port)
	case w.Path != "":
		g.HostCommand = pathScript(w.Path)
	case w.URL != "":
		g.HTTP = &engine.HTTPGate{URL: w.URL}
	default:
		g.HostCommand = w.Command
	}
	return &g
}

// portScript returns a script that succeeds if a process listens on a TCP port of
// the host, on any address. The script looks for a socket in state 0A in
// /proc/net/tcp or tcp6. Their columns are local address, remote address (all
// zero) and state, in hexadecimal (Linux, Documentation/networking/proc_net_tcp).
// The script needs no tool, and makes no connection, which a service would
// notice. It does not find a port that the kernel forwards elsewhere.
func portScript(port int) string {
	return fmt.Sprintf(`case $(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null || :) in
*:%04[1]X' 00000000:0000 0A '* | *:%04[1]X' 00000000000000000000000000000000:0000 0A '*) exit 0 ;;
esac
echo 'nothing listens on TCP port %[1]d' >&2
exit 1
`, port)
}

func pathScript(path string) string {
	return "[ -e " + hostscript.Quote(path) + " ] || { printf '%s\\n' " + hostscript.Quote(path+" does not exist") + " >&2; exit 1; }\n"
}
