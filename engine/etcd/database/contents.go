package database

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// Contents are the parts of a database that a restore depends on.
type Contents struct {
	Revision int64 // of the last change; 0: nothing was ever written
	Members  []Member
	Removed  []string // hexadecimal IDs of former members
}

// Member is one member in the list of a database.
type Member struct {
	ID       string // hexadecimal
	Name     string // "": the member has never started
	PeerURLs []string
	Learner  bool
}

// maxMembers bounds the members of a cluster; etcd recommends 7.
const maxMembers = 100

// maxRevision bounds revisions. A cluster makes some thousands per second.
const maxRevision = 1 << 60

// attempts is the number of times that Read reads a database that changes
// meanwhile.
const attempts = 3

// Read reads a database of size bytes. If etcd writes to the database meanwhile, Read begins again.
func Read(file io.ReaderAt, size int64) (Contents, error) {
	return readState(file, size, pages.readContents)
}

// readState calls read with one state of a database, and again if etcd writes to the database meanwhile.
func readState[T any](file io.ReaderAt, size int64, read func(pages) (T, error)) (none T, _ error) {
	for range attempts {
		before, err := openPages(file, size)
		if err != nil {
			return none, err
		}
		result, readErr := read(before)
		after, err := openPages(file, size)
		if err == nil && after.tx == before.tx {
			return result, readErr
		}
	}
	return none, errors.New("it changes all the time")
}

func (p pages) readContents() (Contents, error) {
	var c Contents
	page, err := p.openBucket("key")
	if err != nil {
		return c, err
	}
	last := func(list []element) int { return len(list) - 1 }
	leaf, err := p.findLeaf(page, last)
	if err != nil {
		return c, fmt.Errorf("its keys: %w", err)
	}
	if len(leaf) > 0 {
		// A key of this bucket contains the revision of a change, and the number of the change within that revision
		// (etcd, server/storage/mvcc/revision.go).
		key := leaf[last(leaf)].key
		if len(key) < 17 || key[8] != '_' || key[0] > 0x7f {
			return c, errors.New("its last revision cannot be read")
		}
		if c.Revision = int64(binary.BigEndian.Uint64(key)); c.Revision > maxRevision {
			return c, fmt.Errorf("its last revision is %d, which no cluster reaches", c.Revision)
		}
	}
	if c.Members, err = p.readMembers(); err != nil {
		return c, err
	}
	if c.Removed, err = p.readRemoved(); err != nil {
		return c, err
	}
	return c, p.correctLearners(c.Members)
}

// readRemoved returns the IDs of former members, of which etcd keeps nothing else. Some databases have no such bucket.
func (p pages) readRemoved() (ids []string, err error) {
	page, err := p.openBucket("members_removed")
	if errors.Is(err, errNoBucket) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	leaf, err := p.findLeaf(page, func([]element) int { return 0 })
	if err != nil {
		return nil, fmt.Errorf("its former members: %w", err)
	}
	for _, e := range leaf[:min(len(leaf), maxMembers)] {
		if id, err := strconv.ParseUint(string(e.key), 16, 64); err == nil {
			ids = append(ids, strconv.FormatUint(id, 16))
		}
	}
	return ids, nil
}

func (p pages) readMembers() ([]Member, error) {
	page, err := p.openBucket("members")
	if err != nil {
		return nil, err
	}
	list, leaf, err := listElements(page)
	if err != nil {
		return nil, fmt.Errorf("its members: %w", err)
	}
	if !leaf {
		list, err = p.joinLeaves(list)
	}
	if err == nil && len(list) > maxMembers {
		err = fmt.Errorf("%d members, and no cluster has more than %d", len(list), maxMembers)
	}
	var members []Member
	for _, e := range list {
		if err != nil {
			break
		}
		var m Member
		m, err = parseMember(e.value)
		members = append(members, m)
	}
	if err != nil {
		return nil, fmt.Errorf("its members: %w", err)
	}
	return members, nil
}

// joinLeaves reads one level below the branch: no cluster has enough members for a second level of branches.
func (p pages) joinLeaves(branch []element) ([]element, error) {
	var all []element
	for _, e := range branch[:min(len(branch), maxMembers)] {
		page, err := p.readPage(e.page)
		if err != nil {
			return nil, err
		}
		list, leaf, err := listElements(page)
		if err != nil || !leaf {
			return nil, errors.Join(err, errors.New("they are not in one level of pages"))
		}
		all = append(all, list...)
	}
	return all, nil
}

func parseMember(text []byte) (Member, error) {
	var m struct {
		ID       uint64   `json:"id"`
		PeerURLs []string `json:"peerURLs"`
		Learner  bool     `json:"isLearner"`
		Name     string   `json:"name"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return Member{}, err
	}
	if m.ID == 0 {
		return Member{}, errors.New("one has no ID")
	}
	return Member{ID: strconv.FormatUint(m.ID, 16), Name: m.Name, PeerURLs: slices.Clone(m.PeerURLs), Learner: m.Learner}, nil
}
