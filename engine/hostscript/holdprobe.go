package hostscript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// MaxHold limits the size of a hold file in bytes. Holds that holdfast writes are always
// smaller: maxUnits limits the units, TruncateHold the texts.
const MaxHold = 256 << 10

// How much of a hold is kept: bytes of all names of units together, each with its
// quotes and comma, and of each text.
const (
	maxUnits    = 192 << 10
	maxHoldText = 4 << 10
)

// TruncateHold shortens a hold to fit into a hold file: it cuts long texts, keeps the
// first units that fit, and counts the others.
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

// NoHold is the exit status of HoldProbeScript without a hold.
const NoHold = 3

// HoldProbeScript returns the script that prints the host's hold, or the beginning of
// one that is too large, and exits with NoHold if there is none. Every probe of a host
// includes it; some are nothing else.
func HoldProbeScript() string {
	return "export LC_ALL=C\n[ -e " + engine.HoldPath + " ] || [ -L " + engine.HoldPath + " ] || exit " + strconv.Itoa(NoHold) + "\n" +
		"head -c " + strconv.Itoa(MaxHold+1) + " " + engine.HoldPath
}

// ReadHold parses the output of a HoldProbeScript. A file that is no readable hold is a
// problem: nobody may take the host then.
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

// CheckHoldScript returns the script that checks whether that run holds the host, before
// something changes the host from elsewhere. If not, it prints the hold and exits with
// ScriptHeld. It changes nothing.
func CheckHoldScript(owner engine.HoldOwner) string {
	return "set -eu\nexport LC_ALL=C\n" + CheckHoldSnippet(owner)
}

// DescribeHolder describes the hold with which a script has ended: ScriptHeld.
func DescribeHolder(reply engine.Output) string {
	if reply.Stdout == "" && reply.Stderr != "" {
		return strings.TrimPrefix(textutil.FirstLine(textutil.KeepTail(reply.Stderr, 4096)), "hold: ")
	}
	var h engine.Hold
	if err := json.Unmarshal([]byte(reply.Stdout), &h); err != nil {
		return "held, by a hold that cannot be read: " + textutil.Printable(textutil.KeepTail(reply.Stdout, 200))
	}
	return h.String()
}
