package archive

import (
	"encoding/hex"
	"fmt"
)

// Kind is the kind of an object, and the extension of its file.
type Kind string

// The kinds of objects that a commit consists of.
const (
	Commit  Kind = "commit"
	DirTree Kind = "dirtree"
	DirMeta Kind = "dirmeta"
	File    Kind = "filez"
)

// Object is one file of a repository.
type Object struct {
	Checksum string
	Kind     Kind
}

// Path returns the path of the object in the repository.
func (o Object) Path() string {
	return "objects/" + o.Checksum[:2] + "/" + o.Checksum[2:] + "." + string(o.Kind)
}

const checksumSize = 32

func objectOf(kind Kind, checksum []byte) (Object, error) {
	if len(checksum) != checksumSize {
		return Object{}, fmt.Errorf("a checksum of a %s has %d bytes", kind, len(checksum))
	}
	return Object{hex.EncodeToString(checksum), kind}, nil
}

// parseCommit returns the root of a commit: (a{sv}aya(say)sstayay). Its last two members are the checksums of the tree and of the
// metadata of the root; six framing offsets follow.
func parseCommit(data []byte) ([]Object, error) {
	const offsets = 6
	end := len(data) - offsets*offsetSize(len(data))
	if end < 2*checksumSize {
		return nil, errVariant
	}
	tree, err := objectOf(DirTree, data[end-2*checksumSize:end-checksumSize])
	if err != nil {
		return nil, err
	}
	meta, err := objectOf(DirMeta, data[end-checksumSize:end])
	return []Object{tree, meta}, err
}

// parseTree returns the objects in a directory: (a(say)a(sayay)).
func parseTree(data []byte) ([]Object, error) {
	lists, err := splitTuple(data, 2)
	if err != nil {
		return nil, err
	}
	files, err := splitArray(lists[0], 1)
	if err != nil {
		return nil, err
	}
	dirs, err := splitArray(lists[1], 1)
	if err != nil {
		return nil, err
	}
	var all []Object
	for _, f := range files {
		if all, err = appendObjects(all, f, File); err != nil {
			return nil, err
		}
	}
	for _, d := range dirs {
		if all, err = appendObjects(all, d, DirTree, DirMeta); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func appendObjects(all []Object, entry []byte, kinds ...Kind) ([]Object, error) {
	members, err := splitTuple(entry, 1+len(kinds))
	if err != nil {
		return nil, err
	}
	for i, kind := range kinds {
		o, err := objectOf(kind, members[1+i])
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}
