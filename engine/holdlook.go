package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// MaxHold is how large in bytes a hold file may be; holdfast writes less than a
// tenth of that.
const MaxHold = 64 << 10

// NoHold is the exit status of HoldLookScript where there is no hold.
const NoHold = 3

// HoldLookScript gives the script that prints the host's hold, or its beginning
// if it is too large, and exits with NoHold if there is none. Every look at a host
// has it; some have nothing else.
func HoldLookScript() string {
	return "export LC_ALL=C\n[ -e " + HoldPath + " ] || [ -L " + HoldPath + " ] || exit " + strconv.Itoa(NoHold) + "\n" +
		"head -c " + strconv.Itoa(MaxHold+1) + " " + HoldPath
}

// ReadHold reads what a HoldLookScript has found. Whatever is there but is not a
// hold that can be understood is a problem: nobody may take the host then.
func ReadHold(out Output) (hold *Hold, problem string) {
	switch {
	case out.Code == NoHold:
		return nil, ""
	case out.Code != 0:
		stderr := strings.TrimSpace(out.Stderr)
		return nil, HoldPath + " cannot be read: " + stderr[strings.LastIndexByte(stderr, '\n')+1:]
	case len(out.Stdout) > MaxHold:
		return nil, fmt.Sprintf("%s has more than %d bytes", HoldPath, MaxHold)
	}
	var h Hold
	d := json.NewDecoder(bytes.NewReader([]byte(out.Stdout)))
	if err := d.Decode(&h); err != nil {
		return nil, HoldPath + " is not a hold: " + err.Error()
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, HoldPath + " is not a hold: something follows it"
	}
	if h.Kind != RunHold && h.Kind != MaintenanceHold {
		return nil, fmt.Sprintf("%s is not a hold: kind %q", HoldPath, h.Kind)
	}
	return &h, ""
}

// CheckHoldScript gives the script that asks whether the host is held by that
// run, before something is done to the host from elsewhere. It does nothing, and
// exits with ScriptHeld where it is not, having printed the hold there is.
func CheckHoldScript(run string) string {
	return "set -eu\nexport LC_ALL=C\n" + CheckHoldSnippet(run)
}
