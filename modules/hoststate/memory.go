package hoststate

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
	"holdfast/modules/shell"
)

const (
	// maxMemory is the largest size, in bytes, of each file in which a host
	// records roll-outs. It has room for a roll-out of engine.MaxPools pools with the
	// longest names, and for everything else.
	maxMemory = engine.MaxPools*2*maxName + 64<<10
	// maxVersion is the largest size, in bytes, of a version. The rest of the
	// output of a version command is dropped.
	maxVersion = 200
	// maxName is the largest size, in bytes, of a name of a pool or of an OS in a
	// roll-out that a host reports.
	maxName = 256
)

// memoryProbe returns commands that read the files in which the host records
// roll-outs, and run the version command if there is one. For a missing file they
// print nothing.
func memoryProbe(version string) []engine.Command {
	file := func(path string) string {
		return "[ ! -e " + path + " ] || head -c " + strconv.Itoa(maxMemory+1) + " " + path + " 2>/dev/null || :"
	}
	list := []engine.Command{
		{Name: "roll-out", Script: file(hostscript.RolloutPath)},
		{Name: "updated", Script: file(hostscript.UpdatedPath)},
		{Name: "rejected", Script: file(hostscript.RejectedPath)},
		{Name: "unproven", Script: hostscript.UnprovenProbeScript()},
	}
	if version == "" {
		return list
	}
	// A version command that prints more than the limit must neither block nor
	// lose its exit status. The braces open 4 for the substitution in every shell:
	// bash expands an assignment before it opens the files of the assignment.
	return append(list, engine.Command{Name: "version", Script: "{ code=$({ { timeout -k 2 10 sh -c " + hostscript.Quote(version) + " 4>&-; echo $? >&3; } | { head -c 4096 >&4; cat >/dev/null; }; } 3>&1); } 4>&1\nexit \"$code\""})
}

// readMemory ignores text that holdfast cannot have written.
func readMemory(o engine.Outputs, f engine.Facts) engine.Facts {
	text := memoryText(o["roll-out"])
	if f.RolloutSchema = readOtherSchema(text); f.RolloutSchema == 0 {
		f.Rollout, f.RolloutProblem = readRollout(text)
	}
	f.Updated = readTime(strings.TrimSpace(memoryText(o["updated"])))
	f.Rejected = readDigests(memoryText(o["rejected"]))
	if out := o["unproven"]; out.Code != 0 || out.Stdout != "" {
		var problem string
		if f.Unproven, problem = hostscript.ReadUnproven(out); problem != "" {
			f.Problems = shell.AppendProblem(f.Problems, problem)
		}
	}
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

// readOtherSchema returns the version of a recorded roll-out if this version of holdfast does not know it. It decodes nothing else,
// because other versions may have other fields and types. Without a version, it returns 0.
func readOtherSchema(text string) int {
	var record struct {
		Schema int `json:"schema"`
	}
	if json.Unmarshal([]byte(text), &record) != nil || record.Schema == engine.RolloutSchema {
		return 0
	}
	return record.Schema
}

// readRollout accepts only the form that holdfast writes: the last roll-out decides whether other hosts may start.
func readRollout(text string) (r *engine.Rollout, problem string) {
	r = &engine.Rollout{}
	if json.Unmarshal([]byte(text), r) != nil || r.Run == "" || len(r.Targets) == 0 {
		return nil, ""
	}
	switch {
	case isForeignID(r.Run) || len(r.Supersedes) > engine.MaxSuperseded || slices.ContainsFunc(r.Supersedes, isForeignID):
		return nil, "its run has no ID that holdfast makes"
	case r.Number < 0 || r.Number > engine.MaxRollout:
		return nil, fmt.Sprintf("number %d is not plausible", r.Number)
	case len(r.Targets) > engine.MaxPools:
		return nil, fmt.Sprintf("%d pools are not plausible", len(r.Targets))
	}
	for pool, digest := range r.Targets {
		if !isName(pool) || digest != "" && !isName(digest) {
			return nil, "a pool or its OS has no plausible name"
		}
	}
	return r, ""
}

func isForeignID(run string) bool {
	_, ok := engine.ParseRunID(run)
	return !ok
}

func isName(text string) bool {
	return text != "" && len(text) <= maxName && textutil.Printable(text) == text && !strings.ContainsAny(text, "\n\t")
}

func readTime(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if t = t.UTC(); err != nil || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

func readDigests(text string) []string {
	var list []string
	for line := range strings.Lines(text) {
		digest := strings.TrimSpace(line)
		if shell.IsHexadecimal(strings.TrimPrefix(digest, "sha256:"), 64) && !slices.Contains(list, digest) {
			list = append(list, digest)
		}
	}
	return list
}

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
