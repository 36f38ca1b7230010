package scenario

import (
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// planted is a secret that a scenario has put on its hosts.
var planted = regexp.MustCompile(`PLANTED-[0-9a-f]{16}`)

// cmdSiege plans and applies two versions of a document by turns while something
// is going on that may make runs fail, and demands that they end with an exit
// code for that, and show no secret.
func cmdSiege(ts *testscript.TestScript, neg bool, args []string) {
	plain(ts, neg, args, 4, "siege TIMES DOCUMENT OLD NEW")
	times, err := strconv.Atoi(args[0])
	ts.Check(err)
	for i := range times {
		text := ts.ReadFile(args[2+i%2])
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o600))
		for _, command := range []string{"plan", "apply --yes"} {
			cmdHoldfast(ts, false, append([]string{"0|2|3|4"}, strings.Fields(command)...))
			if secret := planted.FindString(ts.ReadFile("stdout") + ts.ReadFile("stderr")); secret != "" {
				ts.Fatalf("a secret of a host is in the output of %s: %s", command, secret)
			}
		}
	}
}
