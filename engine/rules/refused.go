package rules

import (
	"cmp"
	"slices"
	"strings"

	"holdfast/engine"
)

// Refused says that a configuration cannot be had without a new installation:
// disks, filesystems, FIPS and the like differ.
type Refused struct {
	Refusals []Refusal
}

// Refusal is one setting that differs.
type Refusal struct {
	Name  string       // storage.disks /dev/sda
	Verb  Verb         // what would have to happen to it
	Place engine.Place // where the new configuration says it, or the old one if the new one does not
}

// Error gives a line for each setting that differs.
func (r *Refused) Error() string {
	lines := make([]string, len(r.Refusals))
	for i, f := range r.Refusals {
		what, at := f.Name, f.Place
		if _, about, ok := strings.Cut(f.Name, " "); at.Path != "" {
			what, at.Path = at.Path, ""
			if ok {
				what += " (" + about + ")"
			}
		}
		lines[i] = strings.TrimPrefix(at.String()+": ", ": ") + engine.Printable(what) + ": " + fixedMessages[f.Verb]
	}
	return strings.Join(lines, "\n")
}

var fixedMessages = map[Verb]string{
	Create: "was not there when the host was installed and cannot be made on a running host; remove it, or install the host anew",
	Update: "differs from what the host was installed with, which cannot be changed on a running host; take the change back, or install the host anew",
	Delete: "is gone, and what it made cannot be undone on a running host; put it back, or install the host anew",
}

// refuseFixed finds what only a new installation could change.
func refuseFixed(old, new engine.Config) error {
	var r Refused
	name := func(f engine.Fixed) string { return f.Name }
	same := func(a, b engine.Fixed) bool { return a.Digest == b.Digest }
	walkDifferences(old.Fixed, new.Fixed, name, same, func(was, is *engine.Fixed) {
		f := Refusal{Verb: changeVerb(was, is)}
		if is != nil {
			f.Name, f.Place = is.Name, is.From
		} else {
			f.Name, f.Place = was.Name, was.From
		}
		r.Refusals = append(r.Refusals, f)
	})
	if len(r.Refusals) == 0 {
		return nil
	}
	slices.SortStableFunc(r.Refusals, func(a, b Refusal) int {
		return cmp.Or(strings.Compare(a.Place.File, b.Place.File), a.Place.Line-b.Place.Line)
	})
	return &r
}
