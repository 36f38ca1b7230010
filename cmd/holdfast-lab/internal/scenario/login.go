package scenario

import (
	"bytes"
	"os/exec"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

func cmdLogin(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] login HOST KEY")
	}
	s := stageOf(ts)
	h := s.findHost(ts, args[0])
	var said bytes.Buffer
	cmd := exec.CommandContext(s.ctx, "ssh", "-F", "none", "-i", ts.MkAbs(args[1]), "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none",
		"-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "UserKnownHostsFile="+ts.MkAbs("site/known_hosts"), "core@"+h.Address(), "true")
	cmd.Stdout, cmd.Stderr = &said, &said
	ts.Check(s.Lab.Start(cmd))
	err := cmd.Wait()
	refused := strings.Contains(said.String(), "Permission denied")
	switch {
	case err != nil && !refused:
		ts.Fatalf("log in to %s: %v: %s", h.Name, err, said.String())
	case refused != neg && neg:
		ts.Fatalf("%s lets %s log in", h.Name, args[1])
	case refused != neg:
		ts.Fatalf("%s refuses %s: %s", h.Name, args[1], said.String())
	}
}
