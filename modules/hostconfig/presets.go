package hostconfig

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/observe"
)

// addPresetEdit removes the presets that Ignition has written for units that get their preset. Otherwise these units would
// get the setting that they had at the installation, and not the preset of the OS.
func (x *configDiff) addPresetEdit(w *hostWrite) {
	n := x.facts.Nodes[observe.IgnitionPresets]
	isManaged := slices.ContainsFunc(x.entries, func(e desiredEntry) bool { return e.path == observe.IgnitionPresets }) ||
		slices.ContainsFunc(w.edits, func(e pathEdit) bool { return e.path == observe.IgnitionPresets })
	rest := n.Contents
	for _, u := range w.units {
		if u.do == "preset" {
			rest = presetsWithout(rest, u.name)
		}
	}
	switch {
	case n.Type != resource.PathFile || isManaged || bytes.Equal(rest, n.Contents):
	case len(rest) == 0:
		w.edits = append(w.edits, x.newEdit(pathState{path: observe.IgnitionPresets, mode: -1}))
	default:
		w.edits = append(w.edits, x.newEdit(w.remainderState(observe.IgnitionPresets, n, rest)))
	}
}

// presetsWithout returns presets without those for a unit. Ignition writes "enable NAME" and "disable NAME", and one line for
// all instances of a template: "enable getty@.service tty1 tty2".
func presetsWithout(presets []byte, unit string) []byte {
	var rest []byte
	for line := range bytes.Lines(presets) {
		words := strings.Fields(string(line))
		if len(words) < 2 {
			rest = append(rest, line...)
			continue
		}
		prefix, suffix, _ := strings.Cut(words[1], "@")
		others := dropMatching(words[2:], func(instance string) bool { return prefix+"@"+instance+suffix == unit })
		switch {
		case words[1] == unit, len(others) == 0 && len(words) > 2:
		case len(others) < len(words)-2:
			rest = append(rest, strings.Join(append(words[:2], others...), " ")+"\n"...)
		default:
			rest = append(rest, line...)
		}
	}
	return rest
}

// remainderState returns the state of a file that keeps its mode and owner and gets these contents.
func (w *hostWrite) remainderState(path string, n resource.PathFacts, contents []byte) pathState {
	digest := resource.Digest(contents)
	w.data[digest] = contents
	return pathState{path: path, kind: resource.PathFile, mode: n.Mode, data: digest, user: strconv.Itoa(n.UID), group: strconv.Itoa(n.GID)}
}
