package modules

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/textutil"
)

const (
	// maxMemory is how many bytes are read of a file in which a host remembers
	// roll-outs; holdfast writes far less.
	maxMemory = 64 << 10
	// maxVersion is how many bytes of what a version command prints are kept.
	maxVersion = 200
	// maxPools and maxName bound what a host says of a roll-out.
	maxPools = 1000
	maxName  = 256
)

// memoryProbe looks at what the host remembers of roll-outs, and at its version
// if there is a command for that. What is not there prints nothing.
func memoryProbe(version string) []engine.Command {
	file := func(path string) string {
		return "[ ! -e " + path + " ] || head -c " + strconv.Itoa(maxMemory+1) + " " + path + " 2>/dev/null || :"
	}
	list := []engine.Command{
		{Name: "roll-out", Script: file(hostscript.RolloutPath)},
		{Name: "updated", Script: file(hostscript.UpdatedPath)},
		{Name: "rejected", Script: file(hostscript.RejectedPath)},
	}
	if version == "" {
		return list
	}
	// What is cut off must not keep the command waiting, nor hide how it ended.
	return append(list, engine.Command{Name: "version", Script: "code=$({ { timeout -k 2 10 sh -c " + hostscript.Quote(version) + " 4>&-; echo $? >&3; } | { head -c 4096 >&4; cat >/dev/null; }; } 3>&1) 4>&1\nexit \"$code\""})
}

// readMemory adds what memoryProbe has seen. What holdfast has not written so
// is as good as nothing.
func readMemory(o engine.Outputs, f engine.Facts) engine.Facts {
	f.Rollout, f.RolloutProblem = readRollout(memoryText(o["roll-out"]))
	f.Updated = readTime(strings.TrimSpace(memoryText(o["updated"])))
	f.Rejected = readDigests(memoryText(o["rejected"]))
	if out := o["version"]; out.Code == 0 {
		f.Version = readVersion(out.Stdout)
	}
	return f
}

func memoryText(out engine.Output) string {
	if out.Code != 0 || len(out.Stdout) > maxMemory {
		return ""
	}
	return out.Stdout
}

// readRollout reads the last roll-out. What it says decides whether others may
// begin, on all hosts, so it has to be what holdfast could have written.
func readRollout(text string) (r *engine.Rollout, problem string) {
	r = &engine.Rollout{}
	if json.Unmarshal([]byte(text), r) != nil || r.Run == "" || len(r.Targets) == 0 {
		return nil, ""
	}
	switch {
	case !isName(r.Run):
		return nil, "its run has no plausible ID"
	case r.Number < 0 || r.Number > engine.MaxRollout:
		return nil, fmt.Sprintf("number %d is not plausible", r.Number)
	case len(r.Targets) > maxPools:
		return nil, fmt.Sprintf("%d pools are not plausible", len(r.Targets))
	}
	for pool, digest := range r.Targets {
		if !isName(pool) || digest != "" && !isName(digest) {
			return nil, "a pool or its OS has no plausible name"
		}
	}
	return r, ""
}

// isName reports whether a text can be that of a run, a pool or an OS.
func isName(text string) bool {
	return text != "" && len(text) <= maxName && textutil.Printable(text) == text && !strings.ContainsAny(text, "\n\t")
}

// readTime reads a time that can be written as JSON again.
func readTime(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if t = t.UTC(); err != nil || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

// readDigests reads digests as holdfast names OS by them, one a line.
func readDigests(text string) []string {
	var list []string
	for line := range strings.Lines(text) {
		digest := strings.TrimSpace(line)
		if isHexadecimal(strings.TrimPrefix(digest, "sha256:"), 64) && !slices.Contains(list, digest) {
			list = append(list, digest)
		}
	}
	return list
}

// readVersion gives the first line that a version command has printed, as far
// as it may be shown.
func readVersion(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = textutil.Printable(strings.TrimSpace(line))
	if len(line) <= maxVersion {
		return line
	}
	end := maxVersion
	for !utf8.RuneStart(line[end]) {
		end--
	}
	return line[:end]
}
