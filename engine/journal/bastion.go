package journal

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Machine is by what a bastion knows itself: its machine ID ("" if it has none)
// and its host name.
type Machine struct {
	ID   string `json:"machine_id"`
	Name string `json:"hostname"`
}

// Bastion is the identity of a bastion. It is kept on the machine and not with the
// journals, because those are kept in git or copied between bastions, and holds
// that a bastion takes over have to be its own.
type Bastion struct {
	Identity string `json:"identity"` // random
	Machine

	Replaced Machine `json:"-"` // for which the file was made that was found, if that is another
}

const stateFolderHint = "set XDG_STATE_HOME to a folder that lasts and can be written"

// bastionFile is the name of the file that keeps the identity.
const bastionFile = "bastion.json"

// ReadBastion reads the identity that dir keeps for this machine. It is the zero
// value if there is none: then no hold is of this bastion.
func ReadBastion(dir string, here Machine) (Bastion, error) {
	path := filepath.Join(dir, bastionFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Bastion{}, nil
	}
	if err != nil {
		return Bastion{}, fmt.Errorf("read the identity of this bastion: %w; %s", err, stateFolderHint)
	}
	var b Bastion
	if err := json.Unmarshal(text, &b); err != nil || len(b.Identity) < 32 {
		return Bastion{}, fmt.Errorf("read the identity of this bastion: %s is damaged; remove it, and the next run makes another: holds that runs of this bastion have left then have to be ended with holdfast release --force", path)
	}
	if b.Machine != here {
		return Bastion{Replaced: b.Machine}, nil
	}
	return b, nil
}

// EnsureBastion reads the identity, and makes one where dir has none or that of
// another machine, as a copied disk or home has.
func EnsureBastion(dir string, here Machine) (Bastion, error) {
	old, err := ReadBastion(dir, here)
	if err != nil || old.Identity != "" {
		return old, err
	}
	b := Bastion{Identity: newIdentity(), Machine: here}
	if err := b.writeTo(dir, old.Replaced != Machine{}); err != nil {
		return Bastion{}, fmt.Errorf("keep the identity of this bastion: %w; holds could not be told from those of other bastions; %s", err, stateFolderHint)
	}
	kept, err := ReadBastion(dir, here) // another run may have been faster
	kept.Replaced = old.Replaced
	return kept, err
}

func newIdentity() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails, says its documentation
	return hex.EncodeToString(b)
}

// writeTo puts the identity into dir, whole or not at all. Only that of another
// machine is replaced.
func (b Bastion) writeTo(dir string, replace bool) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".bastion-*") // 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	path := filepath.Join(dir, bastionFile)
	if replace {
		err = os.Rename(f.Name(), path)
	} else if err = os.Link(f.Name(), path); errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return errors.Join(err, syncFolder(dir))
}
