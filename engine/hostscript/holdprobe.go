package hostscript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"holdfast/engine"
)

// MaxHold is how large in bytes a hold file may be. What holdfast writes is
// bounded, so that it is always less: maxUnits for the units, and for the rest
// what Bounded leaves and what the scripts add.
const MaxHold = 256 << 10

// How much of a hold is kept: bytes of all names of units together, each with its
// quotes and comma, and of each text.
const (
	maxUnits    = 192 << 10
	maxHoldText = 4 << 10
)

// TruncateHold returns the hold as it fits into a hold file: long texts end early, and of
// more units than fit the first are kept, and how many more there were.
func TruncateHold(h engine.Hold) engine.Hold {
	for _, text := range []*string{&h.Holder, &h.Run, &h.Bastion, &h.Reason, &h.Ticket, &h.Step, &h.PreviousOS} {
		*text = truncateText(*text)
	}
	room := maxUnits
	for i, unit := range h.Units {
		quoted, _ := json.Marshal(unit) // a string always marshals
		if room -= len(quoted) + 1; room < 0 {
			h.UnitsLeft += len(h.Units) - i
			h.Units = h.Units[:i]
			break
		}
	}
	return h
}

func truncateText(text string) string {
	for len(jsonField("", text)) > maxHoldText {
		text = strings.ToValidUTF8(text[:len(text)-1-len(text)/8], "") + "…"
	}
	return text
}

// NoHold is the exit status of HoldProbeScript where there is no hold.
const NoHold = 3

// HoldProbeScript gives the script that prints the host's hold, or its beginning
// if it is too large, and exits with NoHold if there is none. Every look at a host
// has it; some have nothing else.
func HoldProbeScript() string {
	return "export LC_ALL=C\n[ -e " + engine.HoldPath + " ] || [ -L " + engine.HoldPath + " ] || exit " + strconv.Itoa(NoHold) + "\n" +
		"head -c " + strconv.Itoa(MaxHold+1) + " " + engine.HoldPath
}

// ReadHold reads what a HoldProbeScript has found. Whatever is there but is not a
// hold that can be understood is a problem: nobody may take the host then.
func ReadHold(out engine.Output) (hold *engine.Hold, problem string) {
	switch {
	case out.Code == NoHold:
		return nil, ""
	case out.Code != 0:
		stderr := strings.TrimSpace(out.Stderr)
		return nil, engine.HoldPath + " cannot be read: " + stderr[strings.LastIndexByte(stderr, '\n')+1:]
	case len(out.Stdout) > MaxHold:
		return nil, fmt.Sprintf("%s has more than %d bytes", engine.HoldPath, MaxHold)
	}
	var h engine.Hold
	d := json.NewDecoder(bytes.NewReader([]byte(out.Stdout)))
	if err := d.Decode(&h); err != nil {
		return nil, engine.HoldPath + " is not a hold: " + err.Error()
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, engine.HoldPath + " is not a hold: something follows it"
	}
	if h.Kind != engine.RunHold && h.Kind != engine.MaintenanceHold {
		return nil, fmt.Sprintf("%s is not a hold: kind %q", engine.HoldPath, h.Kind)
	}
	return &h, ""
}

// CheckHoldScript gives the script that asks whether the host is held by that
// run, before something is done to the host from elsewhere. It does nothing, and
// exits with ScriptHeld where it is not, having printed the hold there is.
func CheckHoldScript(owner engine.HoldOwner) string {
	return "set -eu\nexport LC_ALL=C\n" + CheckHoldSnippet(owner)
}
