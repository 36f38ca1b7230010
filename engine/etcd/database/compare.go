package database

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Relation tells whether two databases can be states of one cluster.
type Relation int

// The relations.
const (
	Unproven Relation = iota // they have no revision in common
	Alike                    // they have the same contents at common revisions
	Unlike                   // they have different contents at one revision
)

// maxCompared bounds the changes that Compare compares.
const maxCompared = 100

// File is a database.
type File struct {
	Data io.ReaderAt
	Size int64
}

// Compare compares the last changes of the database with the lower revision with those of the other one. All members of a
// cluster store the same contents for a revision. So if the IDs of two clusters are the same, because one was made anew with the
// names, addresses and token of the other, the contents still tell them apart.
func Compare(a, b File) (Relation, error) {
	lastA, err := readState(a.Data, a.Size, pages.readLastChanges)
	if err != nil {
		return Unproven, err
	}
	lastB, err := readState(b.Data, b.Size, pages.readLastChanges)
	if err != nil {
		return Unproven, err
	}
	older, newer := lastA, b
	if lastB.lastRevision() < lastA.lastRevision() {
		older, newer = lastB, a
	}
	return readState(newer.Data, newer.Size, func(p pages) (Relation, error) { return p.compareChanges(older) })
}

// changes are changes of a database, in the order of their revisions.
type changes []element

func (c changes) lastRevision() int64 {
	if len(c) == 0 {
		return 0
	}
	return revisionOf(c[len(c)-1])
}

// revisionOf returns the revision of an element whose key readLastChanges has checked.
func revisionOf(e element) int64 { return int64(binary.BigEndian.Uint64(e.key)) }

func (p pages) readLastChanges() (changes, error) {
	page, err := p.openBucket("key")
	if err != nil {
		return nil, err
	}
	leaf, err := p.findLeaf(page, func(list []element) int { return len(list) - 1 })
	if err != nil {
		return nil, fmt.Errorf("its keys: %w", err)
	}
	list := leaf[max(0, len(leaf)-maxCompared):]
	for _, e := range list {
		if len(e.key) < 17 || e.key[8] != '_' || e.key[0] > 0x7f {
			return nil, errors.New("its last revision cannot be read")
		}
	}
	return list, nil
}

// compareChanges compares changes of an older state with a newer one. A change is missing in the newer state only if it was
// compacted there.
func (p pages) compareChanges(older changes) (Relation, error) {
	compacted, err := p.readCompacted()
	if err != nil {
		return Unproven, err
	}
	page, err := p.openBucket("key")
	if err != nil {
		return Unproven, err
	}
	relation := Unproven
	var leaf []element
	for _, e := range older {
		if len(leaf) == 0 || bytes.Compare(leaf[len(leaf)-1].key, e.key) < 0 {
			if leaf, err = p.findLeaf(page, lastUpTo(e.key)); err != nil {
				return Unproven, fmt.Errorf("its keys: %w", err)
			}
		}
		value, found := findElement(leaf, e.key)
		switch {
		case found && bytes.Equal(value, e.value):
			relation = Alike
		case found, revisionOf(e) > compacted:
			return Unlike, nil
		}
	}
	return relation, nil
}

func findElement(leaf []element, key []byte) (value []byte, found bool) {
	for _, e := range leaf {
		if bytes.Equal(e.key, key) {
			return e.value, true
		}
	}
	return nil, false
}

// readCompacted returns the revision up to which changes may be missing.
func (p pages) readCompacted() (revision int64, err error) {
	page, err := p.openBucket("meta")
	if err != nil {
		return 0, err
	}
	list, leaf, err := listElements(page)
	if err != nil || !leaf {
		return 0, errors.Join(err, errors.New("its compacted revision cannot be read"))
	}
	for _, e := range list {
		if name := string(e.key); (name == "scheduledCompactRev" || name == "finishedCompactRev") && len(e.value) >= 8 {
			revision = max(revision, int64(binary.BigEndian.Uint64(e.value)))
		}
	}
	return revision, nil
}
