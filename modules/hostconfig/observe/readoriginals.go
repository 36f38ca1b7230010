package observe

import (
	"strings"

	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/record"
)

// readOriginals notes the paths whose originals are kept. An original may have
// the name of another spelling of the path, which an earlier configuration had.
func (l *probeReader) readOriginals(resource.Config) error {
	kept := map[string]bool{}
	for _, name := range l.parts["originals"] {
		kept[strings.TrimSuffix(name, record.DefaultMark)] = true
	}
	if len(kept) == 0 {
		return nil
	}
	l.facts.Saved = map[string]bool{}
	for p := range l.requested {
		if kept[record.OriginalName(p)] {
			l.facts.Saved[p] = true
			continue
		}
		for _, other := range l.facts.OSLinks.Spellings(p) {
			if name := record.OriginalName(other); kept[name] && !l.facts.Saved[p] {
				l.facts.Saved[p] = true
				if l.facts.OriginalNames == nil {
					l.facts.OriginalNames = map[string]string{}
				}
				l.facts.OriginalNames[p] = name
			}
		}
	}
	return nil
}
