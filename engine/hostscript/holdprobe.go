package hostscript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// MaxHold limits the size of a hold file in bytes. truncateHold keeps the holds that holdfast writes below this limit.
const MaxHold = 256 << 10

// Limits of truncateHold in bytes. maxUnits and maxFailed count the names of all
// units, each with its quotes and comma. maxHoldText is for each text.
const (
	maxUnits    = 192 << 10
	maxFailed   = 16 << 10
	maxHoldText = 4 << 10
)

// truncateHold shortens a hold to fit into a hold file: it cuts long texts, keeps the
// first units that fit, and counts the others. A failed unit that does not fit counts as
// one that had not failed, so that a person has to look at it.
func truncateHold(h engine.Hold) engine.Hold {
	for _, text := range []*string{&h.Holder, &h.Run, &h.Bastion, &h.Reason, &h.Ticket, &h.Step, &h.PreviousOS, &h.Cluster} {
		*text = truncateText(*text)
	}
	if h.Drain != nil {
		d := *h.Drain
		for _, text := range []*string{&d.Name, &d.Undo, &d.Kubernetes, &d.Node} {
			*text = truncateText(*text)
		}
		h.Drain = &d
	}
	fit := countFitting(h.Units, maxUnits)
	h.UnitsOmitted += len(h.Units) - fit
	h.Units = h.Units[:fit]
	h.FailedUnits = h.FailedUnits[:countFitting(h.FailedUnits, maxFailed)]
	return h
}

func countFitting(units []string, room int) int {
	for i, unit := range units {
		quoted, _ := json.Marshal(unit) // a string always marshals
		if room -= len(quoted) + 1; room < 0 {
			return i
		}
	}
	return len(units)
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

// ClockProbeScript is HoldProbeScript with the host's clock in a first line, "clock SECONDS".
func ClockProbeScript() string { return `echo "clock $(date -u +%s)"` + "\n" + HoldProbeScript() }

// CutClock returns the output of a ClockProbeScript as one of a HoldProbeScript, and the host's clock; zero: not known.
func CutClock(out engine.Output) (engine.Output, time.Time) {
	line, rest, _ := strings.Cut(out.Stdout, "\n")
	seconds, err := strconv.ParseInt(strings.TrimPrefix(line, "clock "), 10, 64)
	if !strings.HasPrefix(line, "clock ") || err != nil {
		return out, time.Time{}
	}
	out.Stdout = rest
	return out, time.Unix(seconds, 0).UTC()
}

// UnprovenProbeScript is HoldProbeScript for UnprovenPath.
func UnprovenProbeScript() string {
	return Assign([][2]string{{"file", UnprovenPath}, {"most", strconv.Itoa(MaxHold + 1)}}) + probeHoldScript
}

// ReadUnproven parses the output of UnprovenProbeScript. While the file cannot be
// read, nobody knows how the host was before, so the problem excludes the host.
func ReadUnproven(out engine.Output) (hold *engine.Hold, problem string) {
	if hold, problem = ReadHold(out); problem != "" {
		problem = UnprovenPath + ", which tells how the host was before its last disruption: " + strings.TrimPrefix(problem, engine.HoldPath+" ") +
			"; holdfast release --accept-units HOST removes it, and accepts the host as it is"
	}
	return hold, problem
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
	if err := d.Decode(&h); err != nil && h.Schema <= engine.HoldSchema {
		return nil, engine.HoldPath + " is not a hold: " + err.Error()
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, engine.HoldPath + " is not a hold: something follows it"
	}
	if h.Schema == 0 {
		return nil, engine.HoldPath + " is not a hold: it has no schema"
	}
	if h.Schema != engine.HoldSchema {
		return nil, fmt.Sprintf("%s is of schema %d, and this version of holdfast knows %d; use the version that wrote it, or a later one", engine.HoldPath, h.Schema, engine.HoldSchema)
	}
	if h.Kind != engine.RunHold && h.Kind != engine.MaintenanceHold {
		return nil, fmt.Sprintf("%s is not a hold: kind %q", engine.HoldPath, h.Kind)
	}
	if field := FindUnknownField(out.Stdout, &engine.Hold{}); field != "" {
		return nil, engine.HoldPath + " " + field
	}
	return &h, ""
}

// FindUnknownField checks the JSON of a file that holdfast keeps on a host and writes again, and that is valid for the type of
// value. If the file has a field that the type does not have, it returns a problem that continues a sentence: the field
// would be lost. The value gets the fields of the file.
func FindUnknownField(text string, value any) (problem string) {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(value); err != nil {
		return fmt.Sprintf("has an %s, which this version of holdfast would lose; use the version that wrote it, or a later one", strings.TrimPrefix(err.Error(), "json: "))
	}
	return ""
}

// CheckHoldScript returns the script that checks whether the run of owner holds the host. A run sends it before it
// changes the host from elsewhere, for example through another member of its cluster. If the run does not hold the
// host, the script prints the hold and exits with ScriptHeld. The script changes nothing.
func CheckHoldScript(owner engine.HoldOwner) string {
	return "set -eu\nexport LC_ALL=C\n" + CheckHoldSnippet(owner).String()
}

// DescribeHolder describes the hold that made a script exit with ScriptHeld.
// Without a hold it returns the script's message.
func DescribeHolder(reply engine.Output) string {
	if reply.Stdout == "" && reply.Stderr != "" {
		return strings.TrimPrefix(textutil.FirstLine(textutil.Secrets{}.KeepTail(reply.Stderr, 4096)), "hold: ")
	}
	var h engine.Hold
	if err := json.Unmarshal([]byte(reply.Stdout), &h); err != nil {
		return "held, by a hold that cannot be read: " + textutil.Printable(textutil.Secrets{}.KeepTail(reply.Stdout, 200))
	}
	return h.String()
}
