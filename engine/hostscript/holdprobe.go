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

// MaxHold limits the size of a hold file in bytes. truncateHold keeps the holds that holdfast writes below this limit.
const MaxHold = 256 << 10

// Limits of truncateHold in bytes. maxUnits counts the names of all units, each
// with its quotes and comma. maxHoldText is for each text.
const (
	maxUnits    = 192 << 10
	maxHoldText = 4 << 10
)

// truncateHold shortens a hold to fit into a hold file: it cuts long texts, keeps the
// first units that fit, and counts the others.
func truncateHold(h engine.Hold) engine.Hold {
	for _, text := range []*string{&h.Holder, &h.Run, &h.Bastion, &h.Reason, &h.Ticket, &h.Step, &h.PreviousOS, &h.Cluster} {
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

// HoldProbeScript returns the script that prints the host's hold. If the hold
// is too large, the script prints only its beginning. Without a hold, it exits
// with NoHold. Every probe of a host includes this script.
func HoldProbeScript() string {
	return Assign([][2]string{{"file", engine.HoldPath}, {"most", strconv.Itoa(MaxHold + 1)}}) + probeHoldScript
}

// ReadHold parses the output of a HoldProbeScript. For a file that is not a
// readable hold it returns a problem. Nobody may take a host with such a file.
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

// CheckHoldScript returns the script that checks whether the run of owner holds the host. A run sends it before it
// changes the host from elsewhere, for example through another member of its cluster. If the run does not hold the
// host, the script prints the hold and exits with ScriptHeld. The script changes nothing.
func CheckHoldScript(owner engine.HoldOwner) string {
	return "set -eu\nexport LC_ALL=C\n" + CheckHoldSnippet(owner)
}

// DescribeHolder describes the hold that made a script exit with ScriptHeld.
// Without a hold it returns the script's message.
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
