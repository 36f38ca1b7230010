package database

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// configuration is the configuration of raft, which etcd 3.5 and later keep in the bucket "meta". Members that leave are in outgoing.
type configuration struct {
	Voters   []uint64 `json:"voters"`
	Outgoing []uint64 `json:"voters_outgoing"`
	Learners []uint64 `json:"learners"`
}

// correctLearners sets which members are learners, by the configuration of raft. In the list of members, etcd 3.5.1 to 3.5.19
// leave a promoted learner a learner (https://github.com/etcd-io/etcd/issues/19557).
func (p pages) correctLearners(members []Member) error {
	c, err := p.readConfiguration()
	if err != nil {
		return fmt.Errorf("its voters: %w", err)
	}
	for i, m := range members {
		id, _ := strconv.ParseUint(m.ID, 16, 64) // it was made of a number
		switch {
		case slices.Contains(c.Voters, id), slices.Contains(c.Outgoing, id):
			members[i].Learner = false
		case slices.Contains(c.Learners, id):
			members[i].Learner = true
		}
	}
	return nil
}

// readConfiguration returns the configuration, or an empty one of an older etcd.
func (p pages) readConfiguration() (c configuration, err error) {
	page, err := p.openBucket("meta")
	if err != nil {
		return c, err
	}
	list, leaf, err := listElements(page)
	if err != nil || !leaf {
		return c, errors.Join(err, errors.New("they cannot be read"))
	}
	for _, e := range list {
		if string(e.key) == "confState" {
			err = json.Unmarshal(e.value, &c)
		}
	}
	return c, err
}
